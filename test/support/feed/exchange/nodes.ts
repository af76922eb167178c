import type { Bus } from '../../../../src/feed/bus/bus.ts';
import { type FeedKey, feedKeyRing, feedVerifier } from '../../../../src/feed/message/keys.ts';
import type { VerifierOf } from '../../../../src/feed/message/message.ts';
import { type ControlEnd, createRpc, type Rpc } from '../../../../src/feed/message/rpc.ts';
import type { FeedRefusal } from '../../../../src/feed/ports/refusal.ts';
import { countingNonces, hourKey, signingKeys } from '../batch/keys.ts';
import { secrets, verifier } from '../batch/messages.ts';

/** Nodes of the tests and their signing keys. */
export const NODES = { node1: signingKeys(11), node2: signingKeys(12) } as const;

export const keyOf: VerifierOf = (name) => {
  if (name === 'control') return verifier;
  const node = NODES[name as keyof typeof NODES];
  return node === undefined ? null : feedVerifier([node.publicKey]);
};

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
    readonly random?: (octets: number) => Uint8Array;
  } = {},
): Rpc {
  const { signer } = NODES[name as keyof typeof NODES] ?? ANY;
  return createRpc({
    bus,
    name,
    signing: { signer, random: more.random ?? countingNonces() },
    verifier,
    presentKey: () => (more.key === undefined ? secrets.key : more.key),
    ring: () => RING,
    clock: more.clock ?? (() => NOW),
    onRefused: (reason) => more.refused?.push(reason),
  });
}

const ANY = signingKeys(14);

export function controlEnd(bus: Bus, more: Partial<ControlEnd> = {}): ControlEnd {
  return {
    ...{
      bus,
      verifierOf: keyOf,
      ring: () => RING,
      signing: secrets,
      secrets: () => secrets,
      clock: () => NOW,
    },
    ...more,
  };
}

/** Any name is a node's: for suites that make up names. */
export const keyOfAny: VerifierOf = (node) => keyOf(node) ?? ANY_VERIFIER;
const ANY_VERIFIER = feedVerifier([ANY.publicKey]);

export const OTHER_KEY = hourKey(9);

/** The suites of the sinks have a batch of a node without a name, which no credentials can have. */
export function nameOf(node: string): string {
  return node === '' ? 'node1' : node;
}
