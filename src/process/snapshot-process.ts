/**
 * Composition root of the process that makes snapshots: it follows the feed with a view of its own, as a node does, and listens
 * nowhere. `feed/snapshots/child-process.ts` starts it. It ends with its parent.
 */

import { createPrivateKey, createPublicKey } from 'node:crypto';
import { realRandom } from '../base/chance.ts';
import { isOutOfSpace, makeFolderSync, readParts, systemFiles } from '../base/files.ts';
import { closeAll } from '../base/lifecycle/close.ts';
import type { Clock } from '../base/time.ts';
import { openNatsBus } from '../feed/bus/nats/nats-bus.ts';
import { startFollower } from '../feed/follower/follower.ts';
import type { HourlyKey } from '../feed/keys/hourly-keys.ts';
import type { BatchSecrets } from '../feed/message/batch.ts';
import { feedKeyRing, feedSigner, feedVerifier } from '../feed/message/keys.ts';
import { createRpc } from '../feed/message/rpc.ts';
import { parseCredentials, serversOf } from '../feed/ports/credentials.ts';
import { openBusSource } from '../feed/receive/bus-source.ts';
import {
  type ChildMessage,
  hourlyKeys,
  type ParentMessage,
  type StartMessage,
  tellFollowing,
  toldSource,
} from '../feed/snapshots/child-process.ts';
import { diskFiles, roomForSnapshots, sharedFile } from '../feed/snapshots/shared-files.ts';
import {
  createSnapshotWriter,
  startSnapshotMaker,
  type ViewToSend,
} from '../feed/snapshots/snapshot-maker.ts';
import { createSnapshotReader, snapshotSource } from '../feed/snapshots/snapshot-reader.ts';
import { lockDataDir } from '../store/sqlite/server-lock.ts';
import { FILE_FORMAT } from '../view/lmdb/tree.ts';
import { openLmdbWriter } from '../view/writer.ts';
import { snapshotPaths } from './unused-views.ts';

const MODE_DIRECTORY = 0o700;
/** The parent kills a child that needs longer. */
const END_MS = 4_000;
const clock: Clock = () => Date.now();
const random = realRandom;

let keys: readonly HourlyKey[] = [];
let startedAt = 0;
let heard = (_message: ParentMessage): void => {};

const tell = (message: ChildMessage): void => {
  if (process.connected) process.send?.(message);
};
const failed = (error: unknown): void =>
  tell({
    type: 'failed',
    message: error instanceof Error ? error.message : 'unknown',
    code: isOutOfSpace(error) ? 'ENOSPC' : null,
  });

process.on('message', (message: ParentMessage) => {
  if (message.type === 'keys') keys = hourlyKeys(message.keys);
  if (message.type === 'start') start(message);
  else heard(message);
});

function start(message: StartMessage): void {
  try {
    takeDirectory(message.directory);
    // A child that was killed has left them, with what was deleted since.
    const { copy, incoming } = snapshotPaths(message.directory);
    for (const path of [copy, incoming]) systemFiles.remove(path);
    heard = run(message);
  } catch (error) {
    failed(error);
    process.disconnect?.();
  }
}

/** A child of a parent that was killed may still be ending. */
function takeDirectory(directory: string): void {
  makeFolderSync(directory, MODE_DIRECTORY);
  if (!('release' in lockDataDir(directory)))
    throw new Error('another process makes snapshots in this directory');
}

/** @returns handles what the parent says later */
function run({
  credentials: text,
  servers,
  directory,
  geoip,
  stockMap,
}: StartMessage): (message: ParentMessage) => void {
  const { view: viewPath, copy, incoming } = snapshotPaths(directory);
  const credentials = parseCredentials(text);
  if (credentials.sign === null) throw new Error('the credentials are not those of control');
  const privateKey = createPrivateKey(credentials.sign);
  const signer = feedSigner(privateKey, createPublicKey(privateKey));
  const verifier = feedVerifier(credentials.verify.map((pem) => createPublicKey(pem)));
  const ring = () => feedKeyRing(keys.map(({ key }) => key));
  const secrets = (): BatchSecrets => {
    const now = clock();
    const present = keys.findLast(({ from }) => from <= now);
    if (present === undefined) throw new Error('there is no key of this hour');
    return { key: present.key, signer, random };
  };

  // The parent makes the streams.
  const bus = openNatsBus({ ...serversOf(credentials), servers, streams: null, onError: () => {} });
  const files = diskFiles(incoming, systemFiles, roomForSnapshots);
  const reader = createSnapshotReader({ bus, verifier, keys: ring, files });
  const rpc = createRpc({
    bus,
    name: credentials.name,
    signing: { signer, random },
    verifier,
    presentKey: () => secrets().key,
    ring,
    clock,
  });
  const log = openBusSource({ bus, rpc, verifier, keys: ring, clock });
  const told = toldSource(log, () => tell({ type: 'building' }), clock);
  const source = snapshotSource({ source: told, reader, format: FILE_FORMAT, clock });
  const view = openLmdbWriter({ path: viewPath, free: roomForSnapshots });
  const follower = startFollower({
    source,
    view,
    clock,
    // A view of control's database is never the only one: it follows whatever control has.
    acceptNewStore: true,
    onApplied: () => following.applied(),
    onFailing(fault) {
      // The parent starts it again, with the other database accepted.
      if (fault === 'other_store') end();
    },
  });

  const following = tellFollowing({
    hasView: () => view.cursor() !== null,
    follower,
    tell: (isFollowing) => tell({ type: 'follows', isFollowing }),
  });

  async function copyView(): Promise<ViewToSend> {
    await follower.ready;
    if (follower.isStale()) throw new Error('the view that snapshots are made of is not current');
    startedAt = clock();
    const { file, cursor, epoch } = await view.copyTo(copy);
    if (cursor === null || epoch === null) throw new Error('the view that snapshots are made of is empty');
    return {
      epoch,
      seq: cursor,
      octets: systemFiles.facts(file)?.octets ?? 0,
      content: readParts(file),
    };
  }

  let madeUnder: Uint8Array | null = null;
  const maker = startSnapshotMaker({
    writer: createSnapshotWriter({ bus, secrets, verifier, clock }),
    copyView,
    discardCopy: () => systemFiles.async.remove(copy),
    reserve: (octets) => bus.reserveChunks(octets),
    present() {
      const [epoch, seq] = [view.epoch(), view.cursor()];
      return epoch === null || seq === null ? null : { epoch, seq };
    },
    format: FILE_FORMAT,
    files: [sharedFile('geoip', geoip), sharedFile('stock-map', stockMap)],
    onMade({ keyId, epoch, seq, at, octets, partOctets }) {
      madeUnder = keyId;
      const snapshot = { epoch, seq, at, octets, partOctets };
      tell({ type: 'made', snapshot, seconds: (clock() - startedAt) / 1000 });
    },
    onError: failed,
  });

  const end = (): void => {
    setTimeout(() => process.exit(1), END_MS).unref();
    const steps = [
      () => maker.stop(),
      () => following.stop(),
      () => follower.stop(),
      () => log.close(),
      () => view.close(),
      () => bus.close(),
    ];
    void closeAll(steps).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('disconnect', end);
  return (message) => {
    // After an erasure nobody can read what is there.
    const isUnreadable = madeUnder !== null && ring().find(madeUnder) === null;
    // Its end is told by `onMade` and `onError`.
    if (message.type === 'make' || isUnreadable) maker.make().catch(() => {});
  };
}
