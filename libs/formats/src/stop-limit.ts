/** Most stop strings of a request. A worker looks for each of them at every token: many thousands would stop it. */
export const mostStops = 256;
