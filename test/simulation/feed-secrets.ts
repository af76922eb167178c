/**
 * Keys and signatures of the feed. One seed in some has Ed25519; the others have a checksum in its place, which takes most of the time
 * otherwise: both find every message that the simulated network tears. All else is real: the key service, its deliveries, and the keyrings.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Clock } from '../../src/base/time.ts';
import { openNodeKeyring } from '../../src/feed/keys/node-keys.ts';
import {
  type FeedKey,
  type FeedKeyRing,
  type FeedSigner,
  type FeedVerifier,
  feedKey,
  feedVerifier,
} from '../../src/feed/message/keys.ts';
import type { Recipient } from '../../src/feed/message/message.ts';
import { type ControlEnd, type ControlIdentity, createRpc, type Rpc } from '../../src/feed/message/rpc.ts';
import type { FeedNode } from '../../src/feed/nodes/nodes.ts';
import type { NodeKeys } from '../../src/feed/ports/node-keys.ts';
import { FeedRefusedError } from '../../src/feed/ports/refusal.ts';
import { controlSecrets, type ZoneKeys } from '../../src/process/zone-keys/control-secrets.ts';
import { databaseZoneKeys } from '../../src/process/zone-keys/open.ts';
import type { Store } from '../../src/store/store.ts';
import { nodeKeys, signingKeys } from '../support/feed/batch/keys.ts';
import { secrets as signed } from '../support/feed/batch/messages.ts';
import type { ProcessPorts } from './common.ts';
import { firstZoneKeys } from './edge/zone-keys.ts';

/** What a node reads with. */
export interface NodeSecrets {
  ring(): FeedKeyRing;
  present(): FeedKey | null;
  onKeys(listener: () => void): () => void;
}

export const ZONE = 'uqrp.net';
const SIGNATURE_OCTETS = 64;
const SIGNER_ID = Buffer.from('simulate');

/** As long as an Ed25519 signature: CRC-32, then zeros. */
function checksum(message: Uint8Array): Buffer {
  const octets = Buffer.alloc(SIGNATURE_OCTETS);
  octets.writeUInt32BE(crc32(message));
  return octets;
}

const checksumSigner: FeedSigner = {
  id: SIGNER_ID,
  sign: (message) => Buffer.concat([message, checksum(message)]),
};

export const checksumVerifier: FeedVerifier = {
  open(message, signerOf) {
    if (message.length <= SIGNATURE_OCTETS) throw new FeedRefusedError('size');
    const body = message.subarray(0, message.length - SIGNATURE_OCTETS);
    if (Buffer.compare(signerOf(body), SIGNER_ID) !== 0) throw new FeedRefusedError('signer');
    if (Buffer.compare(checksum(body), message.subarray(body.length)) !== 0)
      throw new FeedRefusedError('signature');
    return body;
  },
};

/** Checks each message once, although three nodes receive the same octets. One that was torn on its way is another one. */
export function checkedOnce(verifier: FeedVerifier): FeedVerifier {
  const bodies = new WeakMap<Uint8Array, Uint8Array>();
  return {
    open(message, signerOf) {
      const known = bodies.get(message);
      if (known !== undefined) return known;
      const body = verifier.open(message, signerOf);
      bodies.set(message, body);
      return body;
    },
  };
}

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

/** @param names of the nodes that there are: a message to another one would only take time */
export function listedNodes(names: readonly string[]): readonly FeedNode[] {
  return names.map((name) => IDENTITIES.get(name)!.listed);
}

/** UQRP_SECRET. */
export const CONTROL_SECRET = createHash('sha256').update('simulation').digest();
const COOKIE_KEY = createHash('sha256').update('cookies').digest();
const TICKET_KEY = createHash('sha256').update('tickets').digest();

export function controlSignature(isWhole: boolean): ControlIdentity {
  return { key: feedKey(CONTROL_SECRET), signer: isWhole ? signed.signer : checksumSigner };
}

export function verifierOfNode(isWhole: boolean): ControlEnd['verifierOf'] {
  return (node) => (isWhole ? (IDENTITIES.get(node)?.verifier ?? null) : checksumVerifier);
}

export function zoneKeysOf(store: Store, clock: Clock): ZoneKeys {
  return databaseZoneKeys({
    store,
    key: CONTROL_SECRET,
    clock,
    mayMake: true,
    earlier: firstZoneKeys,
  });
}

/** What nodes get: signing keys, cookie and ticket secrets. */
export function secretsOfNodes(keys: ZoneKeys, clock: Clock): NodeKeys {
  return controlSecrets({
    keys,
    zones: [ZONE],
    mode: 'full',
    cookieKey: COOKIE_KEY,
    ticketKey: TICKET_KEY,
    clock,
  });
}

export function recipientOf(node: string): Recipient {
  return { node, privateKey: IDENTITIES.get(node)!.encryption.privateKey };
}

export function nodeKeyring(
  { bus, timers, counters, name }: ProcessPorts,
  rpc: Rpc,
  verifier: FeedVerifier,
): NodeSecrets {
  const keyring = openNodeKeyring({
    bus,
    rpc,
    verifier,
    own: recipientOf(name),
    timers,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
  keyring.onKeys(() => counters.count('keys delivered'));
  return keyring;
}

export function nodeRpc(
  { bus, random, clock, counters, name }: ProcessPorts,
  keys: () => NodeSecrets,
  { isWhole, verifier }: { readonly isWhole: boolean; readonly verifier: FeedVerifier },
): Rpc {
  return createRpc({
    bus,
    name,
    signing: { signer: isWhole ? IDENTITIES.get(name)!.signing.signer : checksumSigner, random },
    verifier,
    presentKey: () => keys().present(),
    ring: () => keys().ring(),
    clock,
    onRefused: (reason) => counters.count(`refused ${reason}`),
  });
}
