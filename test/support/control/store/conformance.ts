import { describe } from 'node:test';
import { datasetConformance } from './conformance/datasets/imports.ts';
import { importTransitionConformance } from './conformance/datasets/transitions.ts';
import { deletionConformance } from './conformance/deletion.ts';
import { erasureConformance } from './conformance/erasure.ts';
import { expiryConformance } from './conformance/expiry.ts';
import { factsConformance } from './conformance/facts.ts';
import { listingConformance } from './conformance/listing.ts';
import { logConformance } from './conformance/log.ts';
import { passkeyConformance } from './conformance/passkeys.ts';
import { pingConformance } from './conformance/ping.ts';
import { queryLogConformance } from './conformance/query-log/counts.ts';
import { retentionConformance } from './conformance/query-log/retention.ts';
import { signalConformance } from './conformance/signals.ts';
import { snapshotConformance } from './conformance/snapshot.ts';
import { unitConformance } from './conformance/units.ts';
import { dispatchConformance } from './conformance/webhooks/dispatch.ts';
import { fanOutConformance } from './conformance/webhooks/fan-out.ts';
import { fanOutBoundsConformance } from './conformance/webhooks/fan-out-bounds.ts';
import { historyConformance } from './conformance/webhooks/history.ts';
import { repeatConformance } from './conformance/webhooks/repeat.ts';
import type { TestDatabase } from './fixtures.ts';

/**
 * What every engine of the store must do. The test file of each engine runs it.
 *
 * @param create makes an empty database; called once for each scenario
 * @param skip why the engine cannot be tested here, or null
 */
export function storeConformance(
  engine: string,
  create: () => Promise<TestDatabase>,
  skip: string | null = null,
): void {
  describe(`store on ${engine}`, { skip: skip ?? false }, () => {
    unitConformance(create);
    logConformance(create);
    snapshotConformance(create);
    factsConformance(create);
    passkeyConformance(create);
    pingConformance(create);
    signalConformance(create);
    expiryConformance(create);
    listingConformance(create);
    erasureConformance(create);
    deletionConformance(create);
    queryLogConformance(create);
    retentionConformance(create);
    fanOutConformance(create);
    fanOutBoundsConformance(create);
    dispatchConformance(create);
    repeatConformance(create);
    historyConformance(create);
    datasetConformance(create);
    importTransitionConformance(create);
  });
}
