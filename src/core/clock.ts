/** Milliseconds since the Unix epoch. The one real clock is made in a composition root and handed around. */
export type Clock = () => number;
