import { type Kysely, sql } from 'kysely';
import type { EngineTypes } from './engine-types.ts';

/** Versions of datasets, what their files hold, and the public keys that attest them. */
export async function datasets(db: Kysely<unknown>, types: EngineTypes): Promise<void> {
  await versions(db, types);
  await parts(db, types);
  await keys(db, types);
}

async function versions(db: Kysely<unknown>, { int, strict, byteOrder }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('dataset_versions')
    .addColumn('id', 'text', (c) => c.notNull().primaryKey())
    .addColumn('slug', sql`text ${byteOrder ?? sql``}`, (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('manifest', 'text', (c) => c.notNull())
    .addColumn('items', int, (c) => c.notNull())
    .addColumn('windows', int, (c) => c.notNull())
    .addColumn('octets', int, (c) => c.notNull())
    .addColumn('layout', int, (c) => c.notNull())
    .addColumn('parts', int, (c) => c.notNull())
    .addColumn('has_parts', int, (c) => c.notNull())
    .addColumn('lease', 'text')
    .addColumn('lease_until', int, (c) => c.notNull())
    .addColumn('created_at', int, (c) => c.notNull())
    .addColumn('published_at', int)
    .addColumn('retired_at', int)
    .modifyEnd(strict)
    .execute();
  // Of a slug and version at most one row is being imported or served.
  await sql`create unique index dataset_versions_live on dataset_versions (slug, version)
    where state <> 'retired'`.execute(db);
  await db.schema
    .createIndex('dataset_versions_name')
    .on('dataset_versions')
    .columns(['slug', 'version'])
    .execute();
}

async function parts(db: Kysely<unknown>, { int, bytes, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('dataset_parts')
    .addColumn('version_id', 'text', (c) => c.notNull().references('dataset_versions.id'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('part', int, (c) => c.notNull())
    .addColumn('data', bytes, (c) => c.notNull())
    .addPrimaryKeyConstraint('dataset_parts_key', ['version_id', 'kind', 'part'])
    .modifyEnd(strict)
    .execute();
}

async function keys(db: Kysely<unknown>, { int, strict }: EngineTypes): Promise<void> {
  await db.schema
    .createTable('dataset_keys')
    .addColumn('kid', 'text', (c) => c.notNull().primaryKey())
    .addColumn('public_key', 'text', (c) => c.notNull())
    .addColumn('since', int, (c) => c.notNull())
    .addColumn('until', int)
    .addColumn('is_own', int, (c) => c.notNull())
    .modifyEnd(strict)
    .execute();
}
