import type { QueryResult } from 'kysely';
import type { Db } from '../store.ts';
import { isPostgres, type StatementOptions, statement } from './statement.ts';

/**
 * A statement whose text has `in (:ids)`, for a list of any length: one text, so one prepared statement, for all lengths.
 * @param type of the ids on PostgreSQL
 */
export function listStatement<P extends { readonly ids: readonly (string | number)[] }, R = never>(
  text: string,
  type: 'bigint' | 'text',
  { postgres = text, ...options }: StatementOptions = {},
): (db: Db, parameters: Readonly<P>) => Promise<QueryResult<R>> {
  const run = statement<object, R>(
    text.replaceAll('in (:ids)', 'in (select value from json_each(:ids))'),
    // `any` of an array uses an index, a subquery need not.
    { ...options, postgres: postgres.replaceAll('in (:ids)', `= any(cast(:ids as ${type}[]))`) },
  );
  return (db, parameters) => run(db, { ...parameters, ids: listParameter(db, parameters.ids) });
}

/** A list as the parameter of `json_each` on SQLite and of `unnest` or `any` on PostgreSQL. */
export function listParameter(db: Db, ids: readonly (string | number)[]): unknown {
  return isPostgres(db) ? ids : JSON.stringify(ids);
}
