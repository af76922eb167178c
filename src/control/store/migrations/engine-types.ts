import { type RawBuilder, sql } from 'kysely';

/** Column types that the engines spell differently. */
export interface EngineTypes {
  /** 64-bit integer. */
  readonly int: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** Ends a table: SQLite checks column types only where told to (sqlite.org/stricttables.html). */
  readonly strict: RawBuilder<unknown>;
  /** Makes a text column sort by bytes; null: it does anyway. */
  readonly byteOrder: RawBuilder<unknown> | null;
}

export const ENGINE_TYPES: Readonly<Record<'sqlite' | 'postgres', EngineTypes>> = {
  sqlite: { int: sql`integer`, bytes: sql`blob`, strict: sql`strict`, byteOrder: null },
  postgres: { int: sql`bigint`, bytes: sql`bytea`, strict: sql``, byteOrder: sql`collate "C"` },
};
