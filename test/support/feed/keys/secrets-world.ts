/** Control and nodes for the tests of secrets. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Files } from '../../../../src/base/files.ts';
import { startSecretsService } from '../../../../src/feed/keys/control-keys.ts';
import { openNodeSecrets } from '../../../../src/feed/keys/node-keys.ts';
import { secretsCopy } from '../../../../src/feed/keys/secrets.ts';
import type { NodeSecrets } from '../../../../src/feed/ports/node-keys.ts';
import type { FeedRefusal } from '../../../../src/feed/ports/refusal.ts';
import { createManualTimers } from '../../base/lifecycle/manual-timers.ts';
import { nodeKeys } from '../batch/keys.ts';
import { secrets as feedSecrets, verifier } from '../batch/messages.ts';
import { createMemoryBroker } from '../bus/memory-bus.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../exchange/nodes.ts';
import { changingNodes } from './key-world.ts';

export const START = 1_800_000_000_000;
const { signer } = feedSecrets;
const fra1 = nodeKeys(1);
export const own = { node: 'fra1', privateKey: fra1.privateKey };

export function secretsOf(mark: string, from = 0): NodeSecrets {
  return {
    zones: [{ zone: 'uqrp.net', mark, from, document: JSON.stringify({ zone: 'uqrp.net', mark }) }],
    cookies: [{ period: 7, secret: Buffer.alloc(16, 1) }],
    tickets: [{ period: 9, secret: Buffer.alloc(48, 2) }],
  };
}

/** A node's copy of its secrets on a disk of its own. */
export const copyOn = (files: Files) =>
  secretsCopy({
    path: '/data/node-secrets',
    node: 'fra1',
    key: Buffer.alloc(32, 5),
    random: (octets) => Buffer.alloc(octets, 7),
    files,
  });

export const markOf = ({ zones }: NodeSecrets): string => zones[0]!.mark;

/** Control and nodes on a bus in memory, on a clock that the test turns. */
export function secretsWorld() {
  const timers = createManualTimers();
  const broker = createMemoryBroker(undefined, timers);
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-secrets-'));
  const path = join(folder, 'node-secrets');
  const stops: (() => Promise<void>)[] = [];
  const state = { secrets: secretsOf('a'), database: 'one', isAway: false, nodes: changingNodes('fra1') };
  const copy = (key = 5, node = 'fra1') =>
    secretsCopy({ path, node, key: Buffer.alloc(32, key), random: (octets) => randomBytes(octets) });
  return {
    timers,
    broker,
    path,
    state,
    copy,
    control: () => {
      const stop = startSecretsService({
        source: {
          async read() {
            if (state.isAway) throw new Error('the store is away');
            return state.secrets;
          },
        },
        database: state.database,
        end: controlEnd(broker.connect('control'), {
          verifierOf: keyOfAny,
          signing: { signer, random: (octets) => randomBytes(octets) },
          clock: () => START + timers.now,
        }),
        nodes: state.nodes,
        timers,
      });
      stops.push(stop);
      return stop;
    },
    node: (used = copy(), acceptNewStore = false) => {
      const refused: FeedRefusal[] = [];
      const bus = broker.connect('fra1');
      const copyFaults: unknown[] = [];
      const keys = openNodeSecrets({
        bus,
        rpc: nodeEnd(bus, 'fra1', { random: (octets) => randomBytes(octets) }),
        verifier,
        own,
        copy: used,
        acceptNewStore,
        timers,
        onRefused: (reason) => refused.push(reason),
        onCopyFailed: (error) => copyFaults.push(error),
      });
      stops.push(() => keys.stop());
      return { ...keys, refused, copyFaults };
    },
    close: async () => {
      const ended = Promise.all(stops.map((stop) => stop()));
      await timers.advance(5_000);
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
