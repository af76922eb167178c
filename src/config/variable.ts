import type { Parser } from './parsers.ts';

export interface Variable<T> {
  readonly parse: Parser<T>;
  /** What is parsed when the variable is unset or empty; null: there is no such text, `shown` says what happens. */
  readonly fallback: string | null;
  /** The default as the documentation prints it, where it is no text of its own. */
  readonly shown?: string;
  readonly meaning: string;
  /** Ends the sentence "NAME must be". */
  readonly expects: string;
}

/** Keeps each row's own type while the table checks its form. */
export function variable<T, const F extends string | null>(
  row: Variable<T> & { readonly fallback: F },
): Variable<T> & { readonly fallback: F } {
  return row;
}
