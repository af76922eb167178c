/** The key service, keyrings and exchange of `src/feed`, with their signatures: one seed in some has them, because they take time. */
import type { Bus } from '../../src/feed/bus/bus.ts';
import { startKeyService } from '../../src/feed/keys/key-service.ts';
import { openNodeKeyring } from '../../src/feed/keys/node-keyring.ts';
import type { FeedNode } from '../../src/feed/nodes/nodes.ts';
import type { FeedKeyStore } from '../../src/feed/ports/feed-store.ts';
import { type ControlEnd, createExchange, type Exchange } from '../../src/feed/rpc/rpc.ts';
import { nodeKeys, signingKeys } from '../support/feed/batch/keys.ts';
import { secrets as controlSecrets, verifier } from '../support/feed/batch/messages.ts';
import type { Counters } from './counters.ts';
import type { ControlSecrets, NodeSecrets } from './feed-secrets.ts';
import type { Random } from './random.ts';
import type { ProcessTimers } from './scheduler.ts';

interface NodeIdentity {
  readonly listed: FeedNode;
  readonly encryption: ReturnType<typeof nodeKeys>;
  readonly signing: ReturnType<typeof signingKeys>;
}

/** What `nodes.json` and the credentials of the three nodes hold. */
const IDENTITIES: ReadonlyMap<string, NodeIdentity> = new Map(
  ['n1', 'n2', 'n3'].map((name, i) => {
    const encryption = nodeKeys(20 + i);
    const encrypt = encryption.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    return [
      name,
      { listed: { name, nkey: `U${name}`, encrypt, account: i }, encryption, signing: signingKeys(30 + i) },
    ];
  }),
);
const NODES: readonly FeedNode[] = [...IDENTITIES.values()].map(({ listed }) => listed);

/** What a process has in its hands. */
export interface ProcessPorts {
  readonly bus: Bus;
  readonly process: ProcessTimers;
  readonly random: Random;
  readonly clock: () => number;
  readonly counters: Counters;
}

export function controlKeys(
  { bus, process, random, clock, counters }: ProcessPorts,
  store: FeedKeyStore,
): ControlSecrets {
  const service = startKeyService({
    store,
    bus,
    nodes: { current: () => NODES, onChange: () => () => {} },
    signer: controlSecrets.signer,
    random: (octets) => random.octets(octets),
    clock,
    timers: process,
    onError: () => counters.count('key service failed'),
  });
  return { secrets: () => service.secrets(), ring: () => service.ring() };
}

export function nodeKeyring(
  { bus, process, random, counters }: ProcessPorts,
  name: string,
  elapsed: () => number,
): NodeSecrets {
  const keyring = openNodeKeyring({
    bus,
    verifier,
    own: { node: name, privateKey: IDENTITIES.get(name)!.encryption.privateKey },
    random: (octets) => random.octets(octets),
    elapsed,
    timers: process,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
  keyring.onKeys(() => counters.count('keys delivered'));
  return { ring: () => keyring.ring(), present: () => keyring.present() };
}

export function nodeExchange(
  { bus, random, clock, counters }: ProcessPorts,
  name: string,
  keys: NodeSecrets,
): Exchange {
  return createExchange({
    bus,
    name,
    signer: IDENTITIES.get(name)!.signing.signer,
    verifier,
    presentKey: () => keys.present(),
    ring: () => keys.ring(),
    random: (octets) => random.octets(octets),
    clock,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
}

export function controlEnd({ bus, clock, counters }: ProcessPorts, keys: ControlSecrets): ControlEnd {
  return {
    bus,
    keyOf: (node) => IDENTITIES.get(node)?.signing.publicKey ?? null,
    ring: () => keys.ring(),
    secrets: () => keys.secrets(),
    clock,
    onRefused: (reason) => counters.count(`refused ${reason}`),
    onError: () => counters.count('exchange failed'),
  };
}
