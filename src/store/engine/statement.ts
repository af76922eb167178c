import type { Db, Result, RowInsert } from '../store.ts';

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
 * A statement, run in a unit of work or on a reader. Its methods reject with the engine's error.
 * @typeParam P the parameters: every `:name` of the text, with the values of its column
 * @typeParam R a row of the result, as the text selects it
 */
export interface Statement<P, R> {
  all(db: Db, parameters: Readonly<P>): Promise<R[]>;
  /** The first row; null when there is none. */
  first(db: Db, parameters: Readonly<P>): Promise<R | null>;
  /** @returns how many rows it wrote */
  run(db: Db, parameters: Readonly<P>): Promise<number>;
}

/**
 * Follows the parameter of a LIMIT on SQLite. Its planner reads a parameter that stands alone there, and compiles the statement again after
 * each binding: 4.8 us instead of 1.7 for a small one.
 */
const NO_PEEK = ' + 0';

/** A statement as each engine gets it. */
interface Texts {
  readonly sqlite: string;
  readonly postgres: string;
}

const MADE: Texts[] = [];

/** Every statement that was made until now. `statements.test.ts` runs those of all modules on both engines. */
export function madeStatements(): readonly Texts[] {
  return MADE;
}

/** Names of statements by their text for PostgreSQL. */
const NAMES = new Map<string, string>();

/** The name under which a connection of PostgreSQL keeps the statement; undefined: it is not kept. */
export function statementName(text: string): string | undefined {
  return NAMES.get(text);
}

/**
 * A statement as SQL text that both engines read.
 * @param text values that must be seen by the planner, such as those of a partial index, are written out in it
 */
export function statement<P extends object, R = never>(
  text: string,
  { lock = '', postgres: postgresText = text, named = false }: StatementOptions = {},
): Statement<P, R> {
  const postgres = compile(postgresText, '$', lock);
  if (named) NAMES.set(postgres.sql, `uqrp_${NAMES.size + 1}`);
  const sqlite = compile(text.replace(/\blimit :[a-z_]+/gi, `$&${NO_PEEK}`), '?');
  MADE.push({ sqlite: sqlite.sql, postgres: postgres.sql });
  const execute = (db: Db, parameters: Readonly<P>): Promise<Result<R>> => {
    const { sql, names } = db.engine === 'postgres' ? postgres : sqlite;
    return db.execute<R>(
      sql,
      names.map((name) => (parameters as Readonly<Record<string, unknown>>)[name]),
    );
  };
  return {
    all: async (db, parameters) => (await execute(db, parameters)).rows,
    first: async (db, parameters) => (await execute(db, parameters)).rows[0] ?? null,
    run: async (db, parameters) => (await execute(db, parameters)).count,
  };
}

/**
 * A statement whose text has `in (:ids)` or `not in (:ids)`, for a list of any length: one text, so one prepared statement, for all lengths.
 * @param type of the ids on PostgreSQL
 */
export function listStatement<P extends { readonly ids: readonly (string | number)[] }, R = never>(
  text: string,
  type: 'bigint' | 'text',
  { postgres = text, ...options }: StatementOptions = {},
): Statement<P, R> {
  const list = `(cast(:ids as ${type}[]))`;
  const listed = statement<object, R>(
    text.replaceAll('in (:ids)', 'in (select value from json_each(:ids))'),
    // `any` of an array uses an index, a subquery need not.
    {
      ...options,
      postgres: postgres.replaceAll('not in (:ids)', `<> all${list}`).replaceAll('in (:ids)', `= any${list}`),
    },
  );
  const withList = (db: Db, parameters: Readonly<P>): object => ({
    ...parameters,
    ids: listParameter(db, parameters.ids),
  });
  return {
    all: (db, parameters) => listed.all(db, withList(db, parameters)),
    first: (db, parameters) => listed.first(db, withList(db, parameters)),
    run: (db, parameters) => listed.run(db, withList(db, parameters)),
  };
}

/** A list as the parameter of `json_each` on SQLite and of `unnest` or `any` on PostgreSQL. */
export function listParameter(db: Db, ids: readonly (string | number)[]): unknown {
  return db.engine === 'postgres' ? ids : JSON.stringify(ids);
}

/** The text of an insert of one row: each column has a parameter of its name. @param suffix such as `on conflict …` */
export function insertText(table: string, columns: string, suffix = ''): string {
  return `insert into ${table} (${columns}) values (${columns.replace(/\w+/g, ':$&')}) ${suffix}`;
}

/** Type of a column on PostgreSQL. */
type ColumnType = 'bigint' | 'text' | 'bytea';

/** Rows of one SQLite statement, as many as fit: any number of rows needs these prepared statements alone. */
const CHUNKS = [64, 8, 1] as const;

/**
 * An insert of any number of rows: on PostgreSQL one statement with an array for each column, on SQLite few statements with a
 * parameter for each value.
 * @param suffix what ends the statement, such as `on conflict …`
 */
export function rowInsert(
  table: string,
  columns: Readonly<Record<string, ColumnType>>,
  suffix = '',
): RowInsert {
  const names = Object.keys(columns);
  const into = `insert into ${table} (${names.join(', ')})`;
  const arrays = Object.values(columns).map((type, i) => `$${i + 1}::${type}[]`);
  const many = `${into} select * from unnest(${arrays.join(', ')}) ${suffix}`;
  // One row, the usual case, needs no arrays.
  const one = `${into} values (${names.map((_, i) => `$${i + 1}`).join(', ')}) ${suffix}`;
  const tuple = `(${names.map(() => '?').join(', ')})`;
  const chunks = CHUNKS.map((size) => ({
    size,
    sql: `${into} values ${new Array<string>(size).fill(tuple).join(', ')} ${suffix}`,
  }));
  const single = chunks.at(-1)!.sql;
  for (const { size, sql } of chunks) MADE.push({ sqlite: sql, postgres: size === 1 ? one : many });
  const insert = async (...[tx, rows]: Parameters<RowInsert>): Promise<void> => {
    const [first] = rows;
    if (first === undefined) return;
    if (tx.engine === 'postgres') {
      if (rows.length === 1) await tx.execute(one, first);
      else
        await tx.execute(
          many,
          names.map((_, column) => rows.map((row) => row[column])),
        );
      return;
    }
    if (rows.length === 1) {
      await tx.execute(single, first);
      return;
    }
    let start = 0;
    for (const { size, sql } of chunks) {
      for (; rows.length - start >= size; start += size) {
        await tx.execute(sql, rows.slice(start, start + size).flat());
      }
    }
  };
  return Object.assign(insert, { one });
}

/** @param sign what stands before the number of a parameter */
function compile(text: string, sign: '$' | '?', lock = ''): { sql: string; names: string[] } {
  const names: string[] = [];
  const numbered = text.replace(/:([a-z_]+)/gi, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `${sign}${names.indexOf(name) + 1}`;
  });
  return { sql: `${numbered} ${lock}`, names };
}
