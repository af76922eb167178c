import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { START } from '../../../test/support/dns/accounting/handovers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { UsageBatch } from '../../feed/ports/usage-sink.ts';
import { openNodeAccounting } from './node-accounting.ts';
import { usageSpool } from './spool.ts';

/** As long as ids may be, so that few batches fill the spool. */
function batchOf(number: number): UsageBatch {
  const counts = Array.from({ length: LIMITS.usageBatchCounts }, (_, i) => ({
    namespaceId: `n${i}`.padStart(64, 'n'),
    hour: START,
    answers: number + 1,
  }));
  return { node: 'node1', batch: `b.${number}`, counts };
}

test('a spool that many processes filled keeps its newest batches within the bound, and what is lost is counted', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-spool-'));
  const spool = usageSpool(dir);
  let lost = 0;
  /** A process that sends nothing. */
  async function run(): Promise<number> {
    const accounting = await openNodeAccounting({
      node: 'node1',
      usage: { add: () => Promise.reject(new Error('control is away')) },
      queryLog: null,
      spool,
      onDropped: () => {},
      onUsageRefused: () => {},
      onUsageLost(answers) {
        lost += answers;
      },
      onFailing: () => {},
      clock: () => START,
    });
    const waiting = accounting.waiting();
    await accounting.stop();
    return waiting;
  }
  try {
    const batches = Array.from({ length: 250 }, (_, i) => batchOf(i));
    await spool.write(batches);
    assert.ok(spool.octets() > LIMITS.usageSpoolOctets);
    const waiting = await run();
    const kept = await spool.read();
    const perBatch = spool.octets() / kept.length;
    assert.ok(spool.octets() <= LIMITS.usageSpoolOctets + perBatch, `${spool.octets()}`);
    assert.ok(spool.octets() > LIMITS.usageSpoolOctets - perBatch, `${spool.octets()}`);
    const gone = batches.length - kept.length;
    assert.deepEqual(kept, batches.slice(gone), 'the newest, in their order');
    assert.equal(lost, ((gone * (gone + 1)) / 2) * LIMITS.usageBatchCounts);
    // Within the bound nothing is lost.
    assert.equal(await run(), waiting);
    assert.equal(lost, ((gone * (gone + 1)) / 2) * LIMITS.usageBatchCounts);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
