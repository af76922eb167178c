import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import dnsPacket from 'dns-packet';
import { signedOctets } from '../../../sdk/src/dns/dnssec/canonical.ts';
import { keyTag, type ZoneKey } from '../../../sdk/src/dns/dnssec/zone-keys.ts';
import { nameFromText } from '../../../sdk/src/dns/message/cursor.ts';
import { type DnsMessage, decodeMessage } from '../../../sdk/src/dns/message/message.ts';
import { rdataOf } from '../../../sdk/src/dns/message/record.ts';
import { labelCount } from '../../../src/protocol/dns/name.ts';

/** A record as dns-packet writes it. */
export interface Answer {
  readonly type: string;
  readonly name: string;
  readonly class: 'IN' | 'CH';
  readonly ttl: number;
  readonly data: unknown;
}

/** Milliseconds, inside of the time of every signature made here. */
export const SIGNED_AT = 1_800_000_000_000;
export const ENTRY_POINT = 0x0101;

/** An Ed25519 key of a zone, with the means to sign. */
export interface HandKey extends ZoneKey {
  readonly flags: number;
  readonly privateKey: KeyObject;
}

const ED25519 = 15;
const ED25519_PKCS8 = '302e020100300506032b657004220420';
const TTL = 300;
const REVOKED = 0x0080;

/** The same key for the same seed. */
export function handKey(seed: number, flags = ENTRY_POINT): HandKey {
  const secret = Buffer.alloc(32);
  secret.writeUInt32BE(seed);
  const der = Buffer.concat([Buffer.from(ED25519_PKCS8, 'hex'), secret]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url');
  const rdata = Buffer.concat([Buffer.of(flags >> 8, flags & 0xff, 3, ED25519), publicKey]);
  const isEntryPoint = (flags & 1) !== 0;
  return { tag: keyTag(rdata), algorithm: ED25519, isEntryPoint, publicKey, rdata, flags, privateKey };
}

/** Another key with the tag of the given one, by the flags' bits that have no meaning. */
export function keyWithTagOf({ tag }: ZoneKey, required = ENTRY_POINT): HandKey {
  for (let seed = 1000; ; seed += 1) {
    const { rdata } = handKey(seed, 0);
    for (let flags = 0; flags <= 0xffff; flags += 1) {
      if ((flags & (REVOKED | ENTRY_POINT)) !== required) continue;
      if (keyTag(Buffer.concat([Buffer.of(flags >> 8, flags & 0xff), rdata.subarray(2)])) === tag) {
        return handKey(seed, flags);
      }
    }
  }
}

export function dnskey(
  name: string,
  { flags, algorithm, publicKey }: HandKey,
  klass: 'IN' | 'CH' = 'IN',
): Answer {
  return {
    type: 'DNSKEY',
    name,
    class: klass,
    ttl: TTL,
    data: { flags, algorithm, key: Buffer.from(publicKey) },
  };
}

export function txt(name: string): Answer {
  return { type: 'TXT', name, class: 'IN', ttl: TTL, data: ['text'] };
}

/** The records, of one owner, type and class, with their RRSIG record. */
export function handSigned(rrset: readonly Answer[], key: HandKey): readonly Answer[] {
  const [first] = rrset;
  if (first === undefined) throw new Error('no records to sign');
  const rrsig = (signature: Buffer): Answer => ({
    type: 'RRSIG',
    name: first.name,
    class: first.class,
    ttl: TTL,
    data: {
      typeCovered: first.type,
      algorithm: key.algorithm,
      labels: labelCount(nameFromText(first.name).wire),
      originalTTL: TTL,
      expiration: SIGNED_AT / 1000 + 60,
      inception: SIGNED_AT / 1000 - 60,
      keyTag: key.tag,
      signersName: APEX,
      signature,
    },
  });
  const draft = reply(first.type, first.name, [...rrset, rrsig(Buffer.alloc(64))]);
  const record = draft.records.at(-1);
  const fields = record === undefined ? null : rdataOf(record, 'RRSIG');
  if (record === undefined || fields === null) throw new Error('no RRSIG record');
  const octets = signedOctets({ canonical: record.canonical, fields }, draft.records.slice(0, -1));
  return [...rrset, rrsig(sign(null, octets, key.privateKey))];
}

export const APEX = 'uqrp.net';

export function reply(
  type: string,
  name: string,
  answers: readonly Answer[],
  authorities: readonly Answer[] = [],
): DnsMessage {
  const flags = 0x0400;
  const questions = [{ type, name }];
  return decodeMessage(
    dnsPacket.encode({
      type: 'response',
      id: 1,
      flags,
      questions,
      answers: [...answers],
      authorities: [...authorities],
    }),
  );
}
