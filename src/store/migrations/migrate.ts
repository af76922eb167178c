import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Tx } from '../store.ts';
import { firstTables } from './0001-first-tables.ts';
import { webhooks } from './0002-webhooks.ts';
import { serviceFacts } from './0003-service-facts.ts';
import { storeUnits } from './0004-store.ts';
import { keySets } from './0005-key-sets.ts';
import { idempotency } from './0006-idempotency.ts';
import { webhookTurns } from './0007-webhooks.ts';
import { usage } from './0008-usage.ts';
import { customers } from './0009-customers.ts';
import { signIn } from './0010-sign-in.ts';
import { passkeys } from './0011-passkeys.ts';
import { organizations } from './0012-organizations.ts';
import { queryLog } from './0013-query-log.ts';
import { datasets } from './0014-datasets.ts';
import { queryLogBlocks } from './0015-query-log-blocks.ts';
import { feedKeys } from './0016-feed-keys.ts';
import { signInFlows } from './0017-sign-in.ts';
import { createdBy } from './0018-created-by.ts';
import { namespaceTtl } from './0019-namespace-ttl.ts';
import { ENGINE_TYPES, type EngineTypes } from './engine-types.ts';

type Step = (db: Kysely<unknown>, types: EngineTypes) => Promise<void>;

/** In order, forward only. A name that was released is never changed or removed. */
const STEPS: Readonly<Record<string, Step>> = {
  '0001-first-tables': firstTables,
  '0002-webhooks': webhooks,
  '0003-service-facts': serviceFacts,
  '0004-store': storeUnits,
  '0005-key-sets': keySets,
  '0006-idempotency': idempotency,
  '0007-webhooks': webhookTurns,
  '0008-usage': usage,
  '0009-customers': customers,
  '0010-sign-in': signIn,
  '0011-passkeys': passkeys,
  '0012-organizations': organizations,
  '0013-query-log': queryLog,
  '0014-datasets': datasets,
  '0015-query-log-blocks': queryLogBlocks,
  '0016-feed-keys': feedKeys,
  '0017-sign-in': signInFlows,
  '0018-created-by': createdBy,
  '0019-namespace-ttl': namespaceTtl,
};

/** The last step: what a process that does not migrate waits for. */
export const LATEST_MIGRATION = Object.keys(STEPS).toSorted().at(-1) ?? '';

/**
 * Brings the tables up to date. The caller's transaction must keep other processes out, and commits all steps or none. On SQLite
 * foreign keys must be off; they are checked here, after the steps.
 * @throws LaterSchemaError when a later release migrated the database; the error of a step that fails
 */
export async function migrate(tx: Tx, engine: keyof typeof ENGINE_TYPES): Promise<void> {
  const types = ENGINE_TYPES[engine];
  const migrations: Record<string, Migration> = {};
  for (const [name, step] of Object.entries(STEPS)) {
    migrations[name] = { up: (db: Kysely<unknown>) => step(db, types) };
  }
  const migrator = new Migrator({ db: tx, provider: { getMigrations: async () => migrations } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw (await laterSchema(tx)) ?? error;
  if (engine === 'sqlite' && results.length > 0) await checkForeignKeys(tx);
}

/** What a person does about a database of a later release. Nothing in it is damaged. */
export function laterSchemaText(schema: string, latest = LATEST_MIGRATION): string {
  return (
    `schema ${schema} is newer than this program, which knows ${latest}. Install the later release again, ` +
    'or restore the backup from before the upgrade (docs/operations/restore.md).'
  );
}

/** A later release migrated the database; this one must not write to it. */
export class LaterSchemaError extends Error {
  constructor(schema: string) {
    super(laterSchemaText(schema));
    this.name = 'LaterSchemaError';
  }
}

async function laterSchema(tx: Tx): Promise<LaterSchemaError | null> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(tx);
  const last = rows.at(-1)?.name;
  return last === undefined || last in STEPS ? null : new LaterSchemaError(last);
}

async function checkForeignKeys(tx: Tx): Promise<void> {
  const { rows } = await sql`pragma foreign_key_check`.execute(tx);
  if (rows.length > 0) throw new Error(`migration: ${rows.length} rows reference rows that do not exist`);
}
