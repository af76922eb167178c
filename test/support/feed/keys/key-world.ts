import { randomBytes } from 'node:crypto';
import { type KeyService, startKeyService } from '../../../../src/feed/keys/control-keys.ts';
import { type NodeKeyring, openNodeKeyring } from '../../../../src/feed/keys/node-keys.ts';
import type { FeedNode, NodeList } from '../../../../src/feed/nodes/nodes.ts';
import type { FeedRefusal } from '../../../../src/feed/ports/refusal.ts';
import { createManualTimers, type ManualTimers } from '../../base/lifecycle/manual-timers.ts';
import { nodeKeys } from '../batch/keys.ts';
import { secrets, verifier } from '../batch/messages.ts';
import { createMemoryBroker, type MemoryBroker } from '../bus/memory-bus.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../exchange/nodes.ts';
import { createMemoryFeedKeys, type MemoryFeedKeys } from './memory-feed-keys.ts';

const FILLS: Readonly<Record<string, number>> = { fra1: 1, ams1: 2, nyc1: 3 };

export function testNode(name: string): FeedNode {
  const encrypt = nodeKeys(FILLS[name] ?? 9).publicKey.export({ type: 'spki', format: 'pem' });
  return { name, nkey: `U${name}`, encrypt: encrypt.toString(), account: 0 };
}

export interface ChangingNodes extends NodeList {
  set(...names: readonly string[]): void;
}

export function changingNodes(...names: readonly string[]): ChangingNodes {
  const listeners = new Set<() => void>();
  let nodes = names.map(testNode);
  return {
    current: () => nodes,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(...next) {
      nodes = next.map(testNode);
      for (const listener of listeners) listener();
    },
  };
}

export interface KeyWorld {
  readonly timers: ManualTimers;
  readonly broker: MemoryBroker;
  readonly store: MemoryFeedKeys;
  readonly nodes: ChangingNodes;
  clock(): number;
  /** Sets the clock of every process. */
  step(ms: number): void;
  /** @param skewMs how fast its clock is */
  control(name: string, skewMs?: number): KeyService;
  node(name: string): NodeKeyring & { readonly refused: readonly FeedRefusal[] };
  close(): Promise<void>;
}

/** Control processes and nodes on a bus in memory, on a clock that the test turns. */
/** @param pollMs of the control processes. @param random of the bus */
export function keyWorld(startAt: number, pollMs = 1_000, random?: () => number): KeyWorld {
  const timers = createManualTimers();
  const broker = createMemoryBroker(random, timers);
  const store = createMemoryFeedKeys();
  const nodes = changingNodes('fra1', 'ams1');
  const stops: (() => Promise<void>)[] = [];
  let startsAt = startAt;
  const clock = (): number => startsAt + timers.now;
  return {
    timers,
    broker,
    store,
    nodes,
    clock,
    step(ms) {
      startsAt += ms;
    },
    control(name, skewMs = 0) {
      const service = startKeyService({
        store,
        end: controlEnd(broker.connect(name), {
          verifierOf: keyOfAny,
          signing: { signer: secrets.signer, random: (octets) => randomBytes(octets) },
          clock: () => clock() + skewMs,
        }),
        nodes,
        timers,
        pollMs,
      });
      stops.push(() => service.stop());
      return service;
    },
    node(name) {
      const refused: FeedRefusal[] = [];
      const bus = broker.connect(name);
      const keyring = openNodeKeyring({
        bus,
        rpc: nodeEnd(bus, name, { clock, random: (octets) => randomBytes(octets) }),
        verifier,
        own: { node: name, privateKey: nodeKeys(FILLS[name] ?? 9).privateKey },
        timers,
        onRefused: (reason) => refused.push(reason),
      });
      stops.push(() => keyring.stop());
      return { ...keyring, refused };
    },
    async close() {
      const ended = Promise.all(stops.map((stop) => stop()));
      await timers.advance(5_000);
      await ended;
    },
  };
}
