/** Milliseconds since the Unix epoch. Only a composition root makes the real clock. */
export type Clock = () => number;
