/** The most stop strings of a request. A worker looks for each at every token, so many thousands would block it. */
export const mostStops = 256;
