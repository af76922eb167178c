/** X.509 certificates of version 3 (RFC 5280) with ECDSA over P-256. */

import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { realRandom } from './chance.ts';
import { der } from './der.ts';
import { parseAddress } from './network/address.ts';
import type { CertificatePair } from './network/tls.ts';

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

const DAY_MS = 86_400_000;
/** Valid from yesterday, because clocks differ. */
const BACKDATED_DAYS = 1;
const SERIAL_OCTETS = 16;
const VERSION_3 = 2;
/** digitalSignature, the first bit; seven are unused (RFC 5280 §4.2.1.3). */
const DIGITAL_SIGNATURE = der.bitString(Buffer.of(0x80), 7);
/** keyCertSign and cRLSign, bits 5 and 6. */
const CERTIFICATE_SIGNATURE = der.bitString(Buffer.of(0x06), 1);
/** Tags of a general name (RFC 5280 §4.2.1.6). */
const GENERAL_NAME = { dns: 2, ip: 7 } as const;

interface CertificateFields {
  /** Common names. */
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  /** Private key of the issuer. */
  readonly signer: KeyObject;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly days: number;
  /** What the key may be used for. An authority signs certificates and nothing else. */
  readonly use: 'authority' | readonly ('server' | 'client')[];
  /** DNS names and literal IP addresses. */
  readonly names: readonly string[];
}

/** The certificate as PEM. */
function signCertificate(fields: CertificateFields): string {
  const body = certificateBody(fields);
  const signature = sign('sha256', body, { key: fields.signer, dsaEncoding: 'der' });
  return pem('CERTIFICATE', der.sequence(body, signatureAlgorithm(), der.bitString(signature)));
}

/** The signed part (RFC 5280 §4.1.2). */
function certificateBody(fields: CertificateFields): Buffer {
  const { publicKey, now, days } = fields;
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const serial = realRandom(SERIAL_OCTETS);
  // Positive and of full length.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const notBefore = now - BACKDATED_DAYS * DAY_MS;
  return der.sequence(
    der.explicit(0, der.integer(Buffer.of(VERSION_3))),
    der.integer(serial),
    signatureAlgorithm(),
    commonName(fields.issuer),
    der.sequence(der.time(notBefore), der.time(notBefore + days * DAY_MS)),
    commonName(fields.subject),
    spki,
    der.explicit(3, der.sequence(...extensions(spki, fields))),
  );
}

function commonName(text: string): Buffer {
  return der.sequence(der.set(der.sequence(der.oid(OID.commonName), der.utf8(text))));
}

function extensions(spki: Uint8Array, { use, names }: CertificateFields): Buffer[] {
  const keyId = createHash('sha256').update(spki).digest().subarray(0, 20);
  const identifier = extension(OID.subjectKeyIdentifier, false, der.octetString(keyId));
  if (use === 'authority') {
    return [
      extension(OID.basicConstraints, true, der.sequence(der.TRUE)),
      extension(OID.keyUsage, true, CERTIFICATE_SIGNATURE),
      identifier,
    ];
  }
  const purposes = use.map((purpose) => der.oid(purpose === 'server' ? OID.serverAuth : OID.clientAuth));
  const own = [
    extension(OID.basicConstraints, true, der.sequence()),
    extension(OID.keyUsage, true, DIGITAL_SIGNATURE),
    extension(OID.extendedKeyUsage, false, der.sequence(...purposes)),
    identifier,
  ];
  if (names.length > 0)
    own.push(extension(OID.subjectAltName, false, der.sequence(...names.map(generalName))));
  return own;
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

// The self-signed certificate of a server without one. Clients cannot verify it.

/** The longest validity that Apple's platforms accept. */
const VALID_DAYS = 825;

export interface SelfSignedOptions {
  /** DNS names and literal IP addresses; `localhost` and the loopback addresses are added. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A fresh P-256 key and a certificate signed with it, valid for 825 days; both PEM. */
export function makeSelfSigned({ hosts, now }: SelfSignedOptions): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const cert = signCertificate({
    subject: 'localhost',
    issuer: 'localhost',
    publicKey,
    signer: privateKey,
    now,
    days: VALID_DAYS,
    use: ['server'],
    names: [...new Set(['localhost', '127.0.0.1', '::1', ...hosts])],
  });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

// A private certificate authority for the connections between control, nodes and their broker.

/** Ten years: a node is cut off by its nkey, not by its certificate, and an expired authority would stop every node at once. */
const AUTHORITY_DAYS = 3650;
const NAME = 'uqrp feed';

export interface IssueOptions {
  readonly subject: string;
  readonly use: readonly ('server' | 'client')[];
  /** DNS names and literal IP addresses, of a server. */
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A fresh P-256 key and the certificate of an authority; both PEM. */
export function makeAuthority(now: number): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const own = { subject: NAME, issuer: NAME, publicKey, signer: privateKey, now, days: AUTHORITY_DAYS };
  const cert = signCertificate({ ...own, use: 'authority', names: [] });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** A fresh P-256 key and its certificate, signed by the authority; both PEM. */
export function issueCertificate(authority: CertificatePair, options: IssueOptions): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signer = createPrivateKey(authority.key);
  const cert = signCertificate({ ...options, issuer: NAME, publicKey, signer, days: AUTHORITY_DAYS });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
