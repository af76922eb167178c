/** The key service, keyrings and exchange of `src/feed`, with their signatures: one seed in some has them, because they take time. */
import type { Bus } from '../../src/feed/bus/bus.ts';
import { startKeyService } from '../../src/feed/keys/control-keys.ts';
import { openNodeKeyring } from '../../src/feed/keys/node-keys.ts';
import { type FeedSigner, type FeedVerifier, feedVerifier } from '../../src/feed/message/keys.ts';
import { type ControlEnd, createRpc, type Rpc } from '../../src/feed/message/rpc.ts';
import type { FeedNode } from '../../src/feed/nodes/nodes.ts';
import type { FeedKeyStore } from '../../src/feed/ports/feed-store.ts';
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
  readonly verifier: FeedVerifier;
}

/** What `nodes.json` and the credentials of the three nodes hold. */
const IDENTITIES: ReadonlyMap<string, NodeIdentity> = new Map(
  ['n1', 'n2', 'n3'].map((name, i) => {
    const encryption = nodeKeys(20 + i);
    const encrypt = encryption.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const signing = signingKeys(30 + i);
    const listed = { name, nkey: `U${name}`, encrypt, account: i };
    return [name, { listed, encryption, signing, verifier: feedVerifier([signing.publicKey]) }];
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
  ports: ProcessPorts,
  store: FeedKeyStore,
): ControlSecrets & { readonly end: ControlEnd } {
  const { process, counters } = ports;
  const end: ControlEnd = controlEnd(ports, {
    secrets: () => service.secrets(),
    ring: () => service.ring(),
  });
  const service = startKeyService({
    store,
    end,
    nodes: { current: () => NODES, onChange: () => () => {} },
    timers: process,
    onError: () => counters.count('key service failed'),
  });
  return { end, secrets: () => service.secrets(), ring: () => service.ring() };
}

export function nodeKeyring(
  { bus, process, counters }: ProcessPorts,
  name: string,
  rpc: Rpc,
  elapsed: () => number,
): NodeSecrets {
  const keyring = openNodeKeyring({
    bus,
    rpc,
    verifier,
    own: { node: name, privateKey: IDENTITIES.get(name)!.encryption.privateKey },
    elapsed,
    timers: process,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
  keyring.onKeys(() => counters.count('keys delivered'));
  return { ring: () => keyring.ring(), present: () => keyring.present() };
}

/** @param signer of a seed that is not whole */
export function nodeRpc(
  { bus, random, clock, counters }: ProcessPorts,
  name: string,
  keys: () => NodeSecrets,
  verifier: FeedVerifier,
  signer: FeedSigner = IDENTITIES.get(name)!.signing.signer,
): Rpc {
  return createRpc({
    bus,
    name,
    signing: { signer, random: (octets) => random.octets(octets) },
    verifier,
    presentKey: () => keys().present(),
    ring: () => keys().ring(),
    clock,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
}

/** @param plain of a seed that is not whole */
export function controlEnd(
  { bus, random, clock, counters }: ProcessPorts,
  keys: ControlSecrets,
  plain?: { readonly signer: FeedSigner; readonly verifier: FeedVerifier },
): ControlEnd {
  return {
    bus,
    verifierOf: (node) => plain?.verifier ?? IDENTITIES.get(node)?.verifier ?? null,
    signing: {
      signer: plain?.signer ?? controlSecrets.signer,
      random: (octets) => random.octets(octets),
    },
    ring: () => keys.ring(),
    secrets: () => keys.secrets(),
    clock,
    onRefused: (reason) => counters.count(`refused ${reason}`),
    onError: () => counters.count('exchange failed'),
  };
}
