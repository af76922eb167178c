import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { operationsOf } from '../../../test/support/http/openapi/document.ts';
import { fuzzOperation } from '../../../test/support/http/openapi/fuzz.ts';
import { contract } from '../../../test/support/http/openapi/response-check.ts';
import { createValidator } from '../../../test/support/http/openapi/validator.ts';
import { openWorld, WEBHOOK } from '../../../test/support/http/world.ts';
import { webhookUrlFault } from '../../outbound/target.ts';
import { openStore } from '../../store/open.ts';

/** `TEST_SEED=n` repeats a run. */
const SEED = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
const RUNS = Number(process.env.UQRP_FUZZ_RUNS ?? 20);

describe(`requests made from the OpenAPI document (seed ${SEED})`, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-fuzz-'));
  const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
  const world = await openWorld(store);
  // As production: the pattern of the document is wider, so that a body which it allows may be refused.
  world.network.checkUrl = async (url) => webhookUrlFault(url);
  const { document } = await contract();
  const open = createValidator(document, false);
  after(async () => {
    await world.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('are checked by the real rules of URLs, so that no body is accepted which the document refuses (finding 9)', async () => {
    const customer = await world.customer();
    for (const url of ['Jb1', 'https:', 'http://hooks.example.com/', 'https://127.0.0.1/']) {
      assert.equal((await customer.post('/webhooks', { webhook: { ...WEBHOOK, url } })).status, 422, url);
    }
    await customer.webhook();
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
