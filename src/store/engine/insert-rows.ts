import { CompiledQuery } from 'kysely';
import type { Tx } from '../store.ts';
import { isPostgres } from './statement.ts';

/** Type of a column on PostgreSQL. */
type ColumnType = 'bigint' | 'text' | 'bytea';

type Values = readonly (string | number | Uint8Array | null)[];

/** Rows of one SQLite statement, as many as fit: any number of rows needs these prepared statements alone. */
const CHUNKS = [64, 8, 1] as const;

/**
 * An insert of any number of rows: on PostgreSQL one statement with an array for each column, on SQLite few statements with a
 * parameter for each value.
 * @param suffix what ends the statement, such as `on conflict …`
 * @returns inserts rows whose values have the order of `columns`
 */
export function rowInsert(
  table: string,
  columns: Readonly<Record<string, ColumnType>>,
  suffix = '',
): (tx: Tx, rows: readonly Values[]) => Promise<void> {
  const names = Object.keys(columns);
  const into = `insert into ${table} (${names.join(', ')})`;
  const arrays = Object.values(columns).map((type, i) => `$${i + 1}::${type}[]`);
  const postgres = CompiledQuery.raw(`${into} select * from unnest(${arrays.join(', ')}) ${suffix}`);
  // One row, the usual case, needs no arrays.
  const one = CompiledQuery.raw(`${into} values (${names.map((_, i) => `$${i + 1}`).join(', ')}) ${suffix}`);
  const tuple = `(${names.map(() => '?').join(', ')})`;
  const sqlite = CHUNKS.map((size) => ({
    size,
    query: CompiledQuery.raw(`${into} values ${new Array<string>(size).fill(tuple).join(', ')} ${suffix}`),
  }));
  return async (tx, rows) => {
    const [first] = rows;
    if (first === undefined) return;
    if (isPostgres(tx) && rows.length === 1) {
      await tx.executeQuery({ ...one, parameters: first });
      return;
    }
    if (isPostgres(tx)) {
      const parameters = names.map((_, column) => rows.map((row) => row[column]));
      await tx.executeQuery({ ...postgres, parameters });
      return;
    }
    let start = 0;
    for (const { size, query } of sqlite) {
      for (; rows.length - start >= size; start += size) {
        await tx.executeQuery({ ...query, parameters: rows.slice(start, start + size).flat() });
      }
    }
  };
}
