import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiScenarios } from '../../../test/support/control/api/all.ts';
import { openStore } from '../store/open.ts';

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
