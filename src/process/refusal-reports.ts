/** Messages of the feed that were not used: all are counted, some are reported with what to do. */

import { createReportLimits } from '../base/lifecycle/report-limits.ts';
import type { Clock } from '../base/time.ts';
import type { FeedRefusal } from '../feed/ports/refusal.ts';
import type { FeedMetrics } from '../ops/telemetry/feed-metrics.ts';
import type { Log } from '../ops/telemetry/log.ts';
import type { FeedMend } from '../ops/telemetry/vocabulary.ts';

const FOREIGN: FeedMend = 'see who can write to the broker, a message was damaged, repeated or forged';
const BROKEN_SNAPSHOT: FeedMend =
  'this node reads pages from control, when it happens often see that the broker keeps its stream of snapshots whole';

const MENDS: Readonly<Partial<Record<FeedRefusal, FeedMend>>> = {
  version: 'upgrade this node to the release of control',
  signer: 'make new credentials for this node, they lack a key that signs the feed',
  epoch:
    'expected for a minute after uqrp feed epoch new, else the database of control was exchanged, put the right one back or start this node with --accept-new-store',
  key: 'this node lacks the keys of the hour, see that it was not removed and control runs',
  clock: 'compare the clocks of this machine and of control',
  replayed:
    'see that no two machines use one credentials file, and who can write to the broker, a message came a second time',
  unfit: 'nothing to do, this node reads pages from control, the snapshot is of another release or machine',
  position:
    'nothing to do, this node reads pages from control, the snapshot does not fit the log, as after a restore',
  missing: BROKEN_SNAPSHOT,
  content: BROKEN_SNAPSHOT,
};

/** Counts each message that was not used, and reports some of them. */
export function reportRefusals(log: Log, metrics: FeedMetrics, clock: Clock): (reason: FeedRefusal) => void {
  const isDue = createReportLimits<FeedRefusal>(clock);
  return (reason) => {
    metrics.refused(reason);
    if (isDue(reason)) log.event('feed.refused', { reason, mend: MENDS[reason] ?? FOREIGN });
  };
}
