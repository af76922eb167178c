import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../../src/store/open.ts';
import type { TestDatabase } from './fixtures.ts';

export interface SqliteDatabase extends TestDatabase {
  readonly dataDir: string;
  readonly file: string;
}

/** A data directory of its own under the system's temporary one. */
export async function sqliteDatabase(): Promise<SqliteDatabase> {
  const parent = mkdtempSync(join(tmpdir(), 'uqrp-store-'));
  const dataDir = join(parent, 'data');
  return {
    dataDir,
    file: join(dataDir, 'uqrp.sqlite'),
    open: (clock = Date.now) => openStore({ dataDir, databaseUrl: null, clock }),
    drop: async () => rmSync(parent, { recursive: true }),
  };
}
