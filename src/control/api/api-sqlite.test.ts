import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../store/open.ts';
import { apiScenarios } from './testing/all.ts';

apiScenarios('SQLite', async () => {
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
