import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { operationsOf } from '../../../../test/support/control/api/openapi/document.ts';
import { fuzzOperation } from '../../../../test/support/control/api/openapi/fuzz.ts';
import { contract } from '../../../../test/support/control/api/openapi/response-check.ts';
import { createValidator } from '../../../../test/support/control/api/openapi/validator.ts';
import { openWorld } from '../../../../test/support/control/api/world.ts';
import { openStore } from '../../store/open.ts';

/** `UQRP_FUZZ_SEED=n` repeats a run. */
const SEED = Number(process.env.UQRP_FUZZ_SEED ?? Date.now() % 2 ** 31);
const RUNS = Number(process.env.UQRP_FUZZ_RUNS ?? 20);

describe(`requests made from the OpenAPI document (seed ${SEED})`, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-fuzz-'));
  const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
  const world = await openWorld(store);
  const { document } = await contract();
  const open = createValidator(document, false);
  after(async () => {
    await world.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  for (const located of operationsOf(document)) {
    // A stream of events has no end.
    const isEvents = JSON.stringify(located.operation.responses).includes('text/event-stream');
    it(`${located.method} ${located.path}`, { skip: isEvents }, async (t) => {
      const { accepted, refused } = await fuzzOperation(world, located, {
        document,
        open,
        seed: SEED,
        runs: RUNS,
      });
      assert.equal(accepted + refused, RUNS);
      t.diagnostic(`${accepted} accepted, ${refused} refused`);
    });
  }
});
