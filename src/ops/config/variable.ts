import type { Parser } from './parsers.ts';

export interface Variable<T> {
  readonly parse: Parser<T>;
  /** Parsed when the variable is unset or empty. Null: there is no such text, and `shown` describes the default. */
  readonly fallback: string | null;
  /** The default in the documentation, when it is not a text. */
  readonly shown?: string;
  readonly meaning: string;
  /** Ends the sentence "NAME must be". */
  readonly expects: string;
}

/** Keeps the type of each row while the table checks its shape. */
export function variable<T, const F extends string | null>(
  row: Variable<T> & { readonly fallback: F },
): Variable<T> & { readonly fallback: F } {
  return row;
}
