/** The snapshots that a control process of the simulation makes. */
import { startFollower } from '../../src/feed/follower/follower.ts';
import type { HourlyKey } from '../../src/feed/keys/hourly-keys.ts';
import type { BatchSecrets } from '../../src/feed/message/batch.ts';
import {
  createSnapshotWriter,
  type SnapshotMaker,
  startSnapshotMaker,
} from '../../src/feed/snapshots/snapshot-maker.ts';
import type { Store } from '../../src/store/store.ts';
import { FORMAT, inPieces } from '../support/feed/snapshots/snapshot-world.ts';
import { createMemoryView } from '../support/view/memory-view.ts';
import type { Common, ProcessPorts } from './common.ts';
import { controlSignature } from './feed-secrets.ts';

/** Over a view that follows the log for this alone. */
export function startSnapshots(
  { bus, timers, clock, random, name }: ProcessPorts,
  { changes }: Store,
  keys: () => readonly HourlyKey[],
  { isWhole, verifier, counters, trace }: Common,
): SnapshotMaker {
  const { signer } = controlSignature(isWhole);
  const secrets = (): BatchSecrets => {
    const present = keys().findLast(({ from }) => from <= clock());
    if (present === undefined) throw new Error('there is no key of this hour');
    return { key: present.key, signer, random };
  };
  const view = createMemoryView();
  const follower = startFollower({ source: changes, view, clock, timers });
  follower.ready.catch(() => {});
  return startSnapshotMaker({
    writer: createSnapshotWriter({ bus, secrets, verifier, clock }),
    copyView: async () => {
      const epoch = view.epoch();
      if (epoch === null || !follower.hasView()) throw new Error('there is no view to copy');
      return {
        epoch,
        seq: view.cursor()!,
        octets: 0,
        content: inPieces(view.copy()),
      };
    },
    discardCopy: () => Promise.resolve(),
    reserve: (octets) => bus.reserveChunks(octets),
    present: () => {
      const [epoch, seq] = [view.epoch(), view.cursor()];
      return epoch === null || seq === null ? null : { epoch, seq };
    },
    format: FORMAT,
    files: [],
    timers,
    onMade({ seq }) {
      counters.count('snapshot made');
      trace(`${name}: snapshot of ${seq}`);
    },
    onError: () => counters.count('snapshot not made'),
  });
}
