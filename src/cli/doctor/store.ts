/** Checks of the database, with the engine that the configuration names. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../ops/config/config.ts';
import { loadSecret, secretFingerprint } from '../../ops/config/secrets.ts';
import { StartError } from '../../ops/config/start-error.ts';
import { storeFault } from '../../process/start-checks.ts';
import { LATEST_MIGRATION, laterSchemaText, schemaOf } from '../../store/migrations/migrate.ts';
import { openStore } from '../../store/open.ts';
import { checkSqlite } from '../../store/sqlite/backup.ts';
import { readFact } from '../../store/tables/service-facts.ts';
import { type Finding, note, ok, wrong } from './finding.ts';

type StoreConfig = Pick<Config, 'role' | 'dataDir' | 'databaseUrl' | 'secret'>;

interface StoreFacts {
  readonly schema: string;
  readonly fingerprint: string | null;
}

/** Reads and never migrates. */
export async function checkStore(config: StoreConfig, clock: Clock): Promise<Finding> {
  const { role, dataDir, databaseUrl, secret } = config;
  if (role === 'edge') return note('database', 'a process with the role edge has none');
  try {
    const facts = databaseUrl === null ? sqliteFacts(dataDir) : await postgresFacts(config, clock);
    return storeFinding(facts, LATEST_MIGRATION, secretFingerprint(loadSecret(dataDir, secret, false)));
  } catch (error) {
    return wrong('database', storeFaultText(error as NodeJS.ErrnoException, config));
  }
}

/** What a start would say, and for PostgreSQL what to look at. */
function storeFaultText(error: NodeJS.ErrnoException, config: StoreConfig): string {
  const { databaseUrl } = config;
  const what = storeFault(error, config)?.message ?? (error.message || error.code || 'it does not answer');
  if (databaseUrl === null || error instanceof StartError) return what;
  const named = what.startsWith('UQRP_DATABASE_URL') ? what : `UQRP_DATABASE_URL: ${what}`;
  return `${named}. See that PostgreSQL runs, and that host, port, user, password and database are right.`;
}

function sqliteFacts(dataDir: string): StoreFacts {
  const file = join(dataDir, 'uqrp.sqlite');
  if (!existsSync(file)) {
    throw new StartError(
      `there is no ${file}. Restore a backup, or set UQRP_DATABASE_URL as for the server. In a new directory the first start makes it.`,
    );
  }
  const { migrations, fingerprint } = checkSqlite(file);
  return { schema: migrations.at(-1) ?? 'none', fingerprint };
}

async function postgresFacts({ dataDir, databaseUrl }: StoreConfig, clock: Clock): Promise<StoreFacts> {
  const store = await openStore({ dataDir, databaseUrl, clock, mayMigrate: false });
  try {
    // Bounded: a server that does not answer ends the check after little more than a second.
    await store.ping();
    const schema = await schemaOf(store.read);
    // Databases of earlier schemas have no table of facts.
    const fingerprint = schema >= '0003' ? await readFact(store.read, 'secret_fingerprint') : null;
    return { schema, fingerprint };
  } finally {
    await store.close();
  }
}

/** @param latest schema that this program brings */
export function storeFinding({ schema, fingerprint }: StoreFacts, latest: string, own: string): Finding {
  if (schema > latest && schema !== 'none') {
    return wrong('database', laterSchemaText(schema, latest));
  }
  if (fingerprint !== null && fingerprint !== own) {
    return wrong(
      'database',
      'it was made with another secret. Set UQRP_SECRET to that one; or put back the file secret, which counts while UQRP_SECRET is not set.',
    );
  }
  if (schema !== latest) {
    return wrong(
      'database',
      `schema ${schema}, this program needs ${latest}. Start a server of this release with the role all or control.`,
    );
  }
  return ok('database', `answers, schema ${schema}, secret fits`);
}
