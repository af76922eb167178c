import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { postgresDatabase } from '../store/postgres.ts';
import { postgresMissing } from '../store/postgres-files.ts';
import type { Scenarios } from './world.ts';

interface Opened {
  readonly store: Store;
  close(): Promise<void>;
}

/** One store of an engine, for all groups of scenarios in a process: each scenario makes customers of its own. */
class SharedStore {
  readonly #open: () => Promise<Opened>;
  #opened: Promise<Opened> | null = null;
  #groups = 0;

  constructor(open: () => Promise<Opened>) {
    this.#open = open;
  }

  /** A group that will use it. The files of a process are all read before the first test runs. */
  enter(): void {
    this.#groups++;
  }

  async store(): Promise<Store> {
    this.#opened ??= this.#open();
    return (await this.#opened).store;
  }

  /** A group has ended; the last one closes the store. */
  async leave(): Promise<void> {
    if (--this.#groups > 0) return;
    const opened = await this.#opened;
    this.#opened = null;
    await opened?.close();
  }
}

const SQLITE = new SharedStore(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-api-'));
  const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
  return {
    store,
    close: async () => {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});

// As in production: a database that sorts by a language, and budgets that processes share.
const POSTGRES = new SharedStore(async () => {
  const database = await postgresDatabase('language');
  const store = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
  return {
    store,
    close: async () => {
      await store.close();
      await database.drop();
    },
  };
});

/** Registers scenarios of the REST API, which hold on either engine. */
export function apiScenarios(group: string, scenarios: Scenarios): void {
  runOn('SQLite', SQLITE, null);
  runOn('PostgreSQL', POSTGRES, postgresMissing());

  function runOn(engine: string, shared: SharedStore, missing: string | null): void {
    describe(`${group}, on ${engine}`, { skip: missing ?? false }, () => {
      if (missing !== null) return;
      shared.enter();
      after(() => shared.leave());
      for (const [name, run] of Object.entries(scenarios)) test(name, async () => run(await shared.store()));
    });
  }
}
