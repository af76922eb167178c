import { type RawBuilder, sql } from 'kysely';

/** What the engines spell differently, and which one it is. */
export interface EngineTypes {
  readonly engine: 'sqlite' | 'postgres';
  /** 64-bit integer. */
  readonly int: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** Ends a table: SQLite checks column types only where told to (sqlite.org/stricttables.html). */
  readonly strict: RawBuilder<unknown>;
  /** `strict`, and the rows are stored in the order of the primary key (sqlite.org/withoutrowid.html). */
  readonly clustered: RawBuilder<unknown>;
  /** Makes a text column sort by bytes; null: it does anyway. */
  readonly byteOrder: RawBuilder<unknown> | null;
}

export const ENGINE_TYPES: Readonly<Record<'sqlite' | 'postgres', EngineTypes>> = {
  sqlite: {
    engine: 'sqlite',
    int: sql`integer`,
    bytes: sql`blob`,
    strict: sql`strict`,
    clustered: sql`strict, without rowid`,
    byteOrder: null,
  },
  postgres: {
    engine: 'postgres',
    int: sql`bigint`,
    bytes: sql`bytea`,
    strict: sql``,
    clustered: sql``,
    byteOrder: sql`collate "C"`,
  },
};
