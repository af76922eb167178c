import type { Bus } from '../../../../src/feed/bus/bus.ts';
import { type FeedKey, feedKeyRing } from '../../../../src/feed/message/message.ts';
import type { FeedRefusal } from '../../../../src/feed/ports/refusal.ts';
import {
  type ControlEnd,
  createExchange,
  type Exchange,
  type KeyOfNode,
} from '../../../../src/feed/rpc/rpc.ts';
import { countingNonces, hourKey, signingKeys } from '../batch/keys.ts';
import { secrets, verifier } from '../batch/messages.ts';

/** Nodes of the tests and their signing keys. */
export const NODES = { node1: signingKeys(11), node2: signingKeys(12), control: signingKeys(13) } as const;

export const keyOf: KeyOfNode = (node) => NODES[node as keyof typeof NODES]?.publicKey ?? null;

export const RING = feedKeyRing([secrets.key]);

export const NOW = 1_000_000_000_000;

/** The end of a node, by any name. */
export function nodeEnd(
  bus: Bus,
  name: string,
  more: {
    readonly key?: FeedKey | null;
    readonly refused?: FeedRefusal[];
    readonly clock?: () => number;
  } = {},
): Exchange {
  const { signer } = NODES[name as keyof typeof NODES] ?? ANY;
  return createExchange({
    bus,
    name,
    signer,
    verifier,
    presentKey: () => (more.key === undefined ? secrets.key : more.key),
    ring: () => RING,
    random: countingNonces(),
    clock: more.clock ?? (() => NOW),
    onRefused: (reason) => more.refused?.push(reason),
  });
}

const ANY = signingKeys(14);

export function controlEnd(bus: Bus, more: Partial<ControlEnd> = {}): ControlEnd {
  return { bus, keyOf, ring: () => RING, secrets: () => secrets, clock: () => NOW, ...more };
}

/** Any name is a node's: for suites that make up names. */
export const keyOfAny: KeyOfNode = (node) => keyOf(node) ?? ANY.publicKey;

export const OTHER_KEY = hourKey(9);

/** The suites of the sinks have a batch of a node without a name, which no credentials can have. */
export function nameOf(node: string): string {
  return node === '' ? 'node1' : node;
}
