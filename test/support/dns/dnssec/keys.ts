/** Verification independent of the code under test, and rdata from text. */

import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { dnskeyRdata, keyTag } from '../../../../src/dns/dnssec/key-set.ts';
import { canonicalRdatas, type SignableRrset, type SigningKey } from '../../../../src/dns/dnssec/rrsig.ts';
import { RRTYPE } from '../../../../src/protocol/dns/codes.ts';
import { copyOctets, u16At, u32At } from '../../../../src/protocol/dns/octets.ts';
import { WireReader } from '../../../../src/protocol/dns/reader.ts';
import { wireName } from '../../protocol/dns/fixtures.ts';

export interface RrsigFields {
  readonly covered: number;
  readonly algorithm: number;
  readonly labels: number;
  readonly ttl: number;
  readonly expiration: number;
  readonly inception: number;
  readonly keyTag: number;
  readonly signer: Uint8Array;
  readonly signature: Uint8Array;
}

export function readRrsig(rdata: Uint8Array): RrsigFields {
  const reader = new WireReader(rdata, 18);
  return {
    covered: u16At(rdata, 0),
    algorithm: rdata[2]!,
    labels: rdata[3]!,
    ttl: u32At(rdata, 4),
    expiration: u32At(rdata, 8),
    inception: u32At(rdata, 12),
    keyTag: u16At(rdata, 16),
    signer: reader.plainName(),
    signature: reader.rest(),
  };
}

/** Whether the signature verifies under the DNSKEY, by node:crypto, over octets built here (RFC 4034 §3.1.8.1). */
export function verifies(rrset: SignableRrset, rrsig: Uint8Array, dnskey: Uint8Array): boolean {
  const { signature } = readRrsig(rrsig);
  const parts: Uint8Array[] = [rrsig.subarray(0, rrsig.length - signature.length)];
  for (const rdata of canonicalRdatas(rrset)) {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(rrset.type, 0);
    fixed.writeUInt16BE(1, 2);
    fixed.writeUInt32BE(rrset.ttl, 4);
    fixed.writeUInt16BE(rdata.length, 8);
    parts.push(Buffer.from(rrset.owner.map(lower)), fixed, rdata);
  }
  const publicOctets = copyOctets(dnskey, 4, dnskey.length);
  const key = { key: publicKey(dnskey[3]!, publicOctets), dsaEncoding: 'ieee-p1363' as const };
  return verify(dnskey[3] === 13 ? 'sha256' : null, Buffer.concat(parts), key, signature);
}

/** A key from the private and public octets that an RFC prints, in Base64. */
export function keyFromOctets(
  flags: number,
  algorithm: number,
  privateText: string,
  publicText: string,
): SigningKey & { readonly dnskeyRdata: Uint8Array } {
  const publicOctets = Buffer.from(publicText, 'base64');
  const d = Buffer.from(privateText, 'base64').toString('base64url');
  const privateKey = createPrivateKey({
    key: { ...publicJwk(algorithm, publicOctets), d },
    format: 'jwk',
  });
  const rdata = dnskeyRdata(flags, algorithm, publicOctets);
  return { algorithm, keyTag: keyTag(rdata), privateKey, dnskeyRdata: rdata };
}

export function txt(owner: string, ttl: number, ...texts: string[]): SignableRrset {
  const rdata = texts.map((text) => Uint8Array.of(text.length, ...Buffer.from(text)));
  return { owner: wireName(owner), type: RRTYPE.TXT, ttl, rdata };
}

function publicKey(algorithm: number, octets: Uint8Array): KeyObject {
  return createPublicKey({ key: publicJwk(algorithm, octets), format: 'jwk' });
}

function publicJwk(
  algorithm: number,
  octets: Uint8Array,
): { kty: string; crv: string; x: string; y?: string } {
  const text = (start: number): string =>
    Buffer.from(octets.subarray(start, start + 32)).toString('base64url');
  if (algorithm === 13) return { kty: 'EC', crv: 'P-256', x: text(0), y: text(32) };
  return { kty: 'OKP', crv: 'Ed25519', x: text(0) };
}

function lower(octet: number): number {
  return octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet;
}
