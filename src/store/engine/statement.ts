import { CompiledQuery, PostgresAdapter, type QueryResult } from 'kysely';
import type { Db } from '../store.ts';

type Parameters = Readonly<Record<string, unknown>>;

export interface StatementOptions {
  /** The row lock that ends the statement on PostgreSQL. SQLite has one writer and no row locks. */
  readonly lock?: string;
  /** The text for PostgreSQL, where the engines spell it differently. Write casts as `cast(x as type)`. */
  readonly postgres?: string;
  /**
   * PostgreSQL parses and plans it once a connection, with a plan for any parameters where that costs as little. For statements that take
   * longer to plan than to run, over tables that do not grow from nothing to many rows within a minute. The text must name its columns: a
   * named `select *` fails after a migration.
   */
  readonly named?: boolean;
}

/**
 * Follows the parameter of a LIMIT on SQLite. Its planner reads a parameter that stands alone there, and compiles the statement again after
 * each binding: 4.8 us instead of 1.7 for a small one.
 */
export const NO_PEEK = ' + 0';

/** Names of statements by their text for PostgreSQL. */
const NAMES = new Map<string, string>();

/** The name under which a connection of PostgreSQL keeps the statement; undefined: it is not kept. */
export function statementName(text: string): string | undefined {
  return NAMES.get(text);
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
  { lock = '', postgres: postgresText = text, named = false }: StatementOptions = {},
): (db: Db, parameters: Readonly<P>) => Promise<QueryResult<R>> {
  const postgres = compile(postgresText, '$', lock);
  if (named) NAMES.set(postgres.query.sql, `uqrp_${NAMES.size + 1}`);
  const sqlite = compile(text.replace(/\blimit :[a-z_]+/gi, `$&${NO_PEEK}`), '?');
  return (db, parameters) => {
    const { query, names } = isPostgres(db) ? postgres : sqlite;
    const values = names.map((name) => (parameters as Parameters)[name]);
    return db.executeQuery<R>({ ...query, parameters: values });
  };
}

/** Whether a reader or unit of work belongs to PostgreSQL. */
export function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

/** @param sign what stands before the number of a parameter */
function compile(text: string, sign: '$' | '?', lock = ''): { query: CompiledQuery; names: string[] } {
  const names: string[] = [];
  const numbered = text.replace(/:([a-z_]+)/gi, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `${sign}${names.indexOf(name) + 1}`;
  });
  return { query: CompiledQuery.raw(`${numbered} ${lock}`), names };
}
