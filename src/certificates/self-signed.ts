/** The self-signed certificate of a server without one (RFC 5280). Clients cannot verify it. */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { parseAddress } from '../core/network/address.ts';
import type { CertificatePair } from '../core/network/tls.ts';
import * as der from './der.ts';

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

const DAY_MS = 86_400_000;
/** The longest validity that Apple's platforms accept. */
const VALID_DAYS = 825;
/** Valid from yesterday, because clocks differ. */
const BACKDATED_DAYS = 1;
const SERIAL_OCTETS = 16;
const VERSION_3 = 2;
/** digitalSignature, the first bit; seven are unused (RFC 5280 §4.2.1.3). */
const DIGITAL_SIGNATURE = der.bitString(Buffer.of(0x80), 7);
/** Tags of a general name (RFC 5280 §4.2.1.6). */
const GENERAL_NAME = { dns: 2, ip: 7 } as const;

export interface SelfSignedOptions {
  /** DNS names and literal IP addresses; `localhost` and the loopback addresses are added. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A fresh P-256 key and a certificate signed with it, valid for 825 days; both PEM. */
export function makeSelfSigned({ hosts, now }: SelfSignedOptions): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const all = [...new Set(['localhost', '127.0.0.1', '::1', ...hosts])];
  const body = certificateBody(publicKey, all, now);
  const signature = sign('sha256', body, { key: privateKey, dsaEncoding: 'der' });
  const certificate = der.sequence(body, signatureAlgorithm(), der.bitString(signature));
  return {
    cert: pem('CERTIFICATE', certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** The signed part (RFC 5280 §4.1.2). */
function certificateBody(publicKey: KeyObject, names: readonly string[], now: number): Buffer {
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const name = der.sequence(der.set(der.sequence(der.oid(OID.commonName), der.utf8('localhost'))));
  const serial = randomBytes(SERIAL_OCTETS);
  // Positive and of full length.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const notBefore = now - BACKDATED_DAYS * DAY_MS;
  return der.sequence(
    der.explicit(0, der.integer(Buffer.of(VERSION_3))),
    der.integer(serial),
    signatureAlgorithm(),
    name,
    der.sequence(der.time(notBefore), der.time(notBefore + VALID_DAYS * DAY_MS)),
    name,
    spki,
    der.explicit(3, der.sequence(...extensions(spki, names))),
  );
}

function extensions(spki: Uint8Array, names: readonly string[]): Buffer[] {
  const keyId = createHash('sha256').update(spki).digest().subarray(0, 20);
  return [
    extension(OID.basicConstraints, true, der.sequence()),
    extension(OID.keyUsage, true, DIGITAL_SIGNATURE),
    extension(OID.extendedKeyUsage, false, der.sequence(der.oid(OID.serverAuth))),
    extension(OID.subjectKeyIdentifier, false, der.octetString(keyId)),
    extension(OID.subjectAltName, false, der.sequence(...names.map(generalName))),
  ];
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.TRUE] : []), der.octetString(value));
}

function generalName(name: string): Buffer {
  const address = parseAddress(name);
  return address === null
    ? der.implicit(GENERAL_NAME.dns, Buffer.from(name, 'latin1'))
    : der.implicit(GENERAL_NAME.ip, address);
}

function signatureAlgorithm(): Buffer {
  return der.sequence(der.oid(OID.ecdsaWithSha256));
}

function pem(label: string, octets: Buffer): string {
  const lines = octets.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
