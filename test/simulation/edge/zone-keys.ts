/**
 * The signing keys of the zone, and its parent. Keys are made of octets of the seed's chance, because their tags are in what is sent; those
 * that every seed begins with are made once in a process of the system.
 */
import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import {
  algorithmOf,
  dnskeyRdata,
  dsText,
  type KeyRole,
  type KeySet,
  keysAtParent,
  keyTag,
  readKeySet,
  readZoneKeys,
  type ZoneKey,
} from '../../../src/dns/dnssec/key-set.ts';
import type { ZoneKeys } from '../../../src/process/zone-keys/control-secrets.ts';
import { DNSSEC_ALGORITHM } from '../../../src/protocol/dns/codes.ts';
import { signingKey } from '../../support/feed/batch/keys.ts';
import { ZONE } from './packets.ts';

type Random = (octets: number) => Uint8Array;

/** So many days before the first half hour of most simulations: a rollover begins when all is under way. */
const MADE_AT = Date.UTC(2029, 10, 1, 12, 20);
export const KEY_DAYS = { zsk: 61, ksk: 61 } as const;
const SECRET_OCTETS = 32;
/** Of the DS records at the parent. */
const DS_TTL_MS = 86_400_000;
const ROLES = {
  ksk: { flags: 257, algorithm: DNSSEC_ALGORITHM.ECDSAP256SHA256, privateKey: p256Key },
  zsk: { flags: 256, algorithm: DNSSEC_ALGORITHM.ED25519, privateKey: signingKey },
} as const;

let first: KeySet | null = null;

/** Those that a seed begins with. */
export function firstZoneKeys(): KeySet {
  if (first !== null) return first;
  const keys = (['ksk', 'zsk'] as const).map((role, i) => {
    const octets = new Uint8Array(SECRET_OCTETS).fill(40 + i);
    return {
      ...keyOf(role, octets),
      state: 'active',
      createdAt: MADE_AT,
      stateSince: MADE_AT,
      dsSeenAt: null,
    };
  });
  first = readKeySet({ version: 1, zone: ZONE, keys });
  return first;
}

/** As a process of control changes them: a key that it makes is replaced by one of the seed's chance. */
export function seededKeys(keys: ZoneKeys, random: Random): Pick<ZoneKeys, 'load' | 'update'> {
  const seeded = (key: ZoneKey): ZoneKey => {
    const { role, state, createdAt, stateSince, dsSeenAt } = key;
    const data = { ...keyOf(role, random(SECRET_OCTETS)), state, createdAt, stateSince, dsSeenAt };
    return readZoneKeys(ZONE, [data])[0]!;
  };
  return {
    load: (zone) => keys.load(zone),
    update: (zone, change) =>
      keys.update(zone, (before) => {
        const result = change(before);
        const known = new Set(before.keys.map(({ keyTag: tag }) => tag));
        const isNew = (key: ZoneKey): boolean => !known.has(key.keyTag);
        if (!result.keys.keys.some(isNew)) return result;
        const all = result.keys.keys.map((key) => (isNew(key) ? seeded(key) : key));
        return { ...result, keys: { ...result.keys, keys: all } };
      }),
  };
}

/** The parent zone follows CDS at once; a resolver holds what it says for its TTL. */
export interface Parent {
  /** The zone wants these. @returns the DS records, as a resolver that has none yet sees them */
  follow(keys: KeySet): readonly string[];
  /** Tags of the keys that a resolver trusts by its DS records. */
  anchors(): ReadonlySet<number>;
}

export function createParent(now: () => number): Parent {
  const tagsOf = (keys: KeySet): ReadonlySet<number> =>
    new Set(keysAtParent(keys).map(({ keyTag: tag }) => tag));
  let present = tagsOf(firstZoneKeys());
  let held = { tags: present, until: now() + DS_TTL_MS };
  return {
    follow(keys) {
      present = tagsOf(keys);
      return keysAtParent(keys).map((key) => dsText(keys.zone, key));
    },
    anchors() {
      if (held.until <= now()) held = { tags: present, until: now() + DS_TTL_MS };
      return held.tags;
    },
  };
}

function keyOf(role: KeyRole, octets: Uint8Array): { role: KeyRole; keyTag: number; privateKey: string } {
  const { flags, algorithm, privateKey } = ROLES[role];
  const key = privateKey(octets);
  const rdata = dnskeyRdata(flags, algorithm, algorithmOf(algorithm).publicOctets(key)!);
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { role, keyTag: keyTag(rdata), privateKey: pem };
}

function p256Key(octets: Uint8Array): KeyObject {
  const made = createECDH('prime256v1');
  made.setPrivateKey(octets);
  const point = made.getPublicKey();
  const text = (part: Uint8Array): string => Buffer.from(part).toString('base64url');
  const [d, x, y] = [text(octets), text(point.subarray(1, 33)), text(point.subarray(33))];
  return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', d, x, y } });
}
