import { CompiledQuery, PostgresAdapter, type QueryResult } from 'kysely';
import type { Db } from '../store.ts';

type Parameters = Readonly<Record<string, unknown>>;

interface StatementOptions {
  /** The row lock that ends the statement on PostgreSQL. SQLite has one writer and no row locks. */
  readonly lock?: string;
}

/**
 * A statement as SQL text that both engines read, for the paths of each delivery. There, building a small statement with Kysely takes
 * longer than SQLite takes to run it.
 * @typeParam P the parameters: every `:name` of the text, with the values of its column
 * @typeParam R a row of the result, as the text selects it
 * @param text values that must be seen by the planner, such as those of a partial index, are written out in it
 * @returns runs the statement in a unit of work or on a reader; rejects with the engine's error
 */
export function statement<P extends object, R = never>(
  text: string,
  { lock = '' }: StatementOptions = {},
): (db: Db, parameters: Readonly<P>) => Promise<QueryResult<R>> {
  const names: string[] = [];
  const numbered = text.replace(/:([a-z_]+)/gi, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  const postgres = CompiledQuery.raw(`${numbered} ${lock}`);
  const sqlite = CompiledQuery.raw(numbered.replaceAll('$', '?'));
  return (db, parameters) => {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const values = names.map((name) => (parameters as Parameters)[name]);
    return db.executeQuery<R>({ ...(isPostgres ? postgres : sqlite), parameters: values });
  };
}
