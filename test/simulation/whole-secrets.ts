/** The key service, keyrings and exchange of `src/feed`, with their signatures: one seed in some has them, because they take time. */
import { startKeyService } from '../../src/feed/keys/control-keys.ts';
import { openNodeKeyring } from '../../src/feed/keys/node-keys.ts';
import { type FeedSigner, type FeedVerifier, feedVerifier } from '../../src/feed/message/keys.ts';
import { type ControlEnd, createRpc, type Rpc } from '../../src/feed/message/rpc.ts';
import type { FeedNode } from '../../src/feed/nodes/nodes.ts';
import type { FeedKeyStore } from '../../src/feed/ports/feed-store.ts';
import { nodeKeys, signingKeys } from '../support/feed/batch/keys.ts';
import { secrets as controlSecrets, verifier } from '../support/feed/batch/messages.ts';
import type { ProcessPorts } from './common.ts';
import type { ControlSecrets, NodeSecrets } from './feed-secrets.ts';

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

export function controlKeys(
  ports: ProcessPorts,
  store: FeedKeyStore,
): ControlSecrets & { readonly end: ControlEnd } {
  const { timers, counters } = ports;
  const end: ControlEnd = controlEnd(ports, {
    secrets: () => service.secrets(),
    ring: () => service.ring(),
  });
  const service = startKeyService({
    store,
    end,
    nodes: { current: () => NODES, onChange: () => () => {} },
    timers,
    onError: () => counters.count('key service failed'),
  });
  return { end, secrets: () => service.secrets(), ring: () => service.ring() };
}

export function nodeKeyring({ bus, timers, counters, name }: ProcessPorts, rpc: Rpc): NodeSecrets {
  const keyring = openNodeKeyring({
    bus,
    rpc,
    verifier,
    own: { node: name, privateKey: IDENTITIES.get(name)!.encryption.privateKey },
    timers,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
  keyring.onKeys(() => counters.count('keys delivered'));
  return { ring: () => keyring.ring(), present: () => keyring.present() };
}

/** @param signer of a seed that is not whole */
export function nodeRpc(
  { bus, random, clock, counters, name }: ProcessPorts,
  keys: () => NodeSecrets,
  verifier: FeedVerifier,
  signer: FeedSigner = IDENTITIES.get(name)!.signing.signer,
): Rpc {
  return createRpc({
    bus,
    name,
    signing: { signer, random },
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
      random,
    },
    ring: () => keys.ring(),
    secrets: () => keys.secrets(),
    clock,
    onRefused: (reason) => counters.count(`refused ${reason}`),
    onError: () => counters.count('exchange failed'),
  };
}
