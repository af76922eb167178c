/** Faults that change nothing that anybody could see. `npm run mutate` makes none of them. */
export interface Equivalent {
  readonly file: string;
  /** The line without the spaces around it, or its beginning. */
  readonly text: string;
  /** Kinds as scripts/mutate-kinds.ts names them; without them every fault of the line. */
  readonly kinds?: readonly string[];
  readonly reason: string;
}

export const EQUIVALENTS: readonly Equivalent[] = [];
