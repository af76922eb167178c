/**
 * What a node signs with. `full`: the whole key set. `split`: the ZSKs, and the rrsets of the apex as the control side signed
 * them, so that no node has the KSK.
 */
import { RRTYPE } from '../../protocol/dns/codes.ts';
import {
  KeyError,
  type KeySet,
  type KeySetData,
  keySetData,
  keyTag,
  readZoneKeys,
  type ZoneKey,
  type ZoneKeyData,
} from './key-set.ts';
import { makeSigner, type PresignedRrset } from './signer.ts';

/** As plain data, for messages and threads. Secret: never log it. */
export type NodeKeySetData = KeySetData | PresignedSetData;

export interface PresignedSetData {
  readonly version: 2;
  readonly zone: string;
  /** ZSKs alone. */
  readonly keys: readonly ZoneKeyData[];
  readonly rrsets: readonly PresignedData[];
}

interface PresignedData {
  readonly type: number;
  readonly ttl: number;
  /** Base64. */
  readonly rdata: readonly string[];
  readonly rrsigs: readonly string[];
  /** Milliseconds since the epoch. */
  readonly validFrom: number;
  readonly validUntil: number;
}

export interface PresignedSet {
  readonly zone: string;
  readonly keys: readonly ZoneKey[];
  readonly rrsets: readonly PresignedRrset[];
}

const VERSION = 2;
const HOUR_MS = 3_600_000;
/** Signatures are renewed in this time: before half of their validity is over. */
export const PRESIGN_EVERY_MS = 72 * HOUR_MS;
const LIFE_MS = 7 * 24 * HOUR_MS;
const TYPES: readonly number[] = [RRTYPE.DNSKEY, RRTYPE.CDS, RRTYPE.CDNSKEY];

/**
 * The rrsets of the apex are signed by the active KSK from an hour before the last multiple of three days on, for seven days: two processes give the
 * same times. The signatures themselves differ, as ECDSA's do.
 */
export function presignedSetData(keys: KeySet, now: number): PresignedSetData {
  const start = presignedAt(now);
  const signer = makeSigner({ keys, mode: 'split', clock: () => start });
  const rrsets = [signer.dnskey, signer.cds, signer.cdnskey].map((rrset): PresignedData => {
    const { rrsigs, validFrom } = signer.sign(rrset);
    const { type, ttl, rdata } = rrset;
    return {
      type,
      ttl,
      rdata: rdata.map(base64),
      rrsigs: rrsigs.map(base64),
      validFrom,
      validUntil: start + LIFE_MS,
    };
  });
  const { zone, version: _version, keys: all } = keySetData(keys);
  return { version: VERSION, zone, keys: all.filter(({ role }) => role === 'zsk'), rrsets };
}

/** When signatures that are made now count as made. */
export function presignedAt(now: number): number {
  return Math.floor(now / PRESIGN_EVERY_MS) * PRESIGN_EVERY_MS;
}

export function isPresigned(data: NodeKeySetData): data is PresignedSetData {
  return data.version === VERSION;
}

/** Tags of the keys in the DNSKEY rrset, those of KSKs too. */
export function dnskeyTags({ rrsets }: PresignedSetData): readonly number[] {
  const dnskey = rrsets.find(({ type }) => type === RRTYPE.DNSKEY);
  return (dnskey?.rdata ?? []).map((rdata) => keyTag(Buffer.from(rdata, 'base64')));
}

/** @throws KeyError when the data are not whole: each rrset, one active ZSK, and that ZSK in the DNSKEY rrset */
export function readPresignedSet(data: PresignedSetData): PresignedSet {
  const { zone } = data;
  const broken = (): KeyError => new KeyError(`the signed keys of ${zone} are not readable`);
  if (!Array.isArray(data.rrsets) || !Array.isArray(data.keys)) throw broken();
  const keys = readZoneKeys(zone, data.keys);
  const rrsets = data.rrsets.map(readRrset);
  if (rrsets.length !== TYPES.length || rrsets.some((rrset, i) => rrset?.type !== TYPES[i])) throw broken();
  const whole = rrsets.filter((rrset) => rrset !== null);
  const active = keys.filter(({ state }) => state === 'active');
  const [dnskey] = whole;
  const isPublished = ({ dnskeyRdata }: ZoneKey): boolean =>
    dnskey?.rdata.some((rdata) => Buffer.compare(rdata, dnskeyRdata) === 0) ?? false;
  if (active.length !== 1 || keys.some(({ role }) => role !== 'zsk') || !keys.every(isPublished))
    throw broken();
  return { zone, keys, rrsets: whole };
}

function readRrset(data: Partial<PresignedData> | null): PresignedRrset | null {
  const { type, ttl, rdata, rrsigs, validFrom, validUntil } = data ?? {};
  if (!isCount(type) || !isCount(ttl) || !isCount(validFrom) || !isCount(validUntil)) return null;
  const [records, signatures] = [octetsOf(rdata), octetsOf(rrsigs)];
  if (records === null || signatures === null) return null;
  return { type, ttl, rdata: records, rrsigs: signatures, validFrom, validUntil };
}

function octetsOf(texts: unknown): readonly Uint8Array[] | null {
  if (!Array.isArray(texts) || texts.length === 0) return null;
  if (!texts.every((text) => typeof text === 'string')) return null;
  return texts.map((text) => Buffer.from(text, 'base64'));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function base64(octets: Uint8Array): string {
  return Buffer.from(octets).toString('base64');
}
