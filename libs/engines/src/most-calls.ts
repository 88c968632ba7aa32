/** The most calls of one answer: clients of chat completions accept call indices from 0 to 127 and fail at the next. */
export const mostCalls = 128;
