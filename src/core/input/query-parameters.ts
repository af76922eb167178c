import { type AppError, malformed } from '../errors.ts';
import { shownName } from './fields.ts';

/** The parameters of a query string as the HTTP server parsed them: a repeated one is an array. */
export type QueryParameters = Readonly<Record<string, unknown>>;

/**
 * Judges the names of a query string's parameters.
 *
 * @returns the parameters, of which each is one text
 * @throws AppError 400 for one that is not in `known` or is repeated, with its name where that can be repeated
 */
export function readParameters(
  query: QueryParameters,
  known: readonly string[],
): Readonly<Record<string, string>> {
  for (const [index, [name, text]] of Object.entries(query).entries()) {
    if (!known.includes(name)) {
      throw badParameter(shownName(name, 'parameter', index + 1), 'is not a known parameter');
    }
    if (typeof text !== 'string') throw badParameter(name, 'is given more than once');
  }
  return query as Readonly<Record<string, string>>;
}

/** 400 with a message that begins with the parameter's name. */
export function badParameter(name: string, what: string): AppError {
  return malformed(400, `${name} ${what}`);
}
