/** The secrets of a node: delivered by control, else the copy on its disk; its workers sign with them, and control is told which. */
import { makeFolderSync } from '../../../src/base/files.ts';
import type { NodeKeySetData } from '../../../src/dns/dnssec/node-key-set.ts';
import { openNodeSecrets } from '../../../src/feed/keys/node-keys.ts';
import { secretsCopy } from '../../../src/feed/keys/secrets.ts';
import type { FeedVerifier } from '../../../src/feed/message/keys.ts';
import type { Recipient } from '../../../src/feed/message/message.ts';
import type { Rpc } from '../../../src/feed/message/rpc.ts';
import type { NodeKeys } from '../../../src/feed/ports/node-keys.ts';
import {
  type AnsweredKeys,
  firstSecrets,
  readSecrets,
  watchAnsweredKeys,
  watchSecrets,
} from '../../../src/process/node/keys.ts';
import type { ProcessPorts } from '../common.ts';
import { ZONE } from './packets.ts';

export interface NodeSigning {
  /** Without keys nothing is answered. */
  hasKeys(): boolean;
  report: AnsweredKeys['report'];
}

interface SigningOptions {
  readonly ports: ProcessPorts;
  readonly rpc: Rpc;
  readonly verifier: FeedVerifier;
  readonly own: Recipient;
  /** Puts keys to use. */
  readonly use: (keys: readonly NodeKeySetData[]) => Promise<void>;
}

const FOLDER = '/node';
const COPY_KEY = new Uint8Array(32).fill(9);

export function openNodeSigning({ ports, rpc, verifier, own, use }: SigningOptions): NodeSigning {
  const { bus, timers, random, disk, counters, trace, name } = ports;
  const files = disk.files(timers);
  const onCopyFailed = (error: unknown): void => {
    counters.count('copy of the secrets failed');
    trace(`${name}: ${String(error)}`);
  };
  let isInUse = false;
  let keptBy: Pick<NodeKeys, 'isKept'> = {};
  const answered = watchAnsweredKeys({ isKept: () => keptBy.isKept?.() ?? true }, timers.elapsed);

  async function change(keys: readonly NodeKeySetData[]): Promise<void> {
    await use(keys);
    answered.used(keys);
    isInUse = true;
    counters.count('secrets in use');
  }

  async function open(): Promise<void> {
    try {
      makeFolderSync(FOLDER, 0o700, files);
    } catch (error) {
      onCopyFailed(error);
    }
    const source = openNodeSecrets({
      bus,
      rpc,
      verifier,
      own,
      copy: secretsCopy({ path: `${FOLDER}/node-secrets`, node: name, key: COPY_KEY, random, files }),
      timers,
      onCopyFailed,
    });
    keptBy = source;
    const read = readSecrets(source, [ZONE]);
    const cancel = new AbortController().signal;
    const first = await firstSecrets({
      read,
      onWaiting: () => counters.count('node without keys'),
      cancel,
      timers,
    });
    await change(first.secrets.keys);
    watchSecrets({
      read,
      inUse: first.marks,
      onKeys: change,
      // Nothing here has cookies or tickets.
      onPeriods: async () => {},
      onError: (error) => trace(`${name}: ${String(error)}`),
      timers,
    });
  }

  open().catch(onCopyFailed);
  return { hasKeys: () => isInUse, report: () => answered.report() };
}
