import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { der } from '../../../src/base/der.ts';

/** Chains of certificates (RFC 5280) for servers of tests: authorities, those below them, and every way to get one wrong. */

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
const VERSION_3 = Buffer.of(2);
/** keyCertSign, and digitalSignature (RFC 5280 §4.2.1.3). */
const KEY_CERT_SIGN = der.bitString(Buffer.of(0x04), 2);
const DIGITAL_SIGNATURE = der.bitString(Buffer.of(0x80), 7);
/** Tags of a general name (RFC 5280 §4.2.1.6). */
const GENERAL_NAME = { dns: 2, ip: 7 } as const;

export interface CertificateOptions {
  readonly commonName: string;
  /** DNS names and literal IPv4 addresses; none for an authority. */
  readonly hosts?: readonly string[];
  readonly isAuthority?: boolean;
  /** Signed by itself where it is missing. */
  readonly issuer?: Certificate;
  /** Valid from and until, days from now. */
  readonly from?: number;
  readonly until?: number;
}

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly privateKey: KeyObject;
  readonly subject: Buffer;
}

/** A certificate with a fresh P-256 key. */
export function makeCertificate(options: CertificateOptions): Certificate {
  const { commonName, issuer, from = -1, until = 30 } = options;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const subject = der.sequence(der.set(der.sequence(der.oid(OID.commonName), der.utf8(commonName))));
  const now = Date.now();
  const body = der.sequence(
    der.explicit(0, der.integer(VERSION_3)),
    der.integer(randomBytes(16)),
    signatureAlgorithm(),
    issuer?.subject ?? subject,
    der.sequence(der.time(now + from * DAY_MS), der.time(now + until * DAY_MS)),
    subject,
    spki,
    der.explicit(3, der.sequence(...extensions(options, spki))),
  );
  const signer = issuer?.privateKey ?? privateKey;
  const signature = sign('sha256', body, { key: signer, dsaEncoding: 'der' });
  const whole = der.sequence(body, signatureAlgorithm(), der.bitString(signature));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
    subject,
  };
}

function extensions({ hosts = [], isAuthority = false }: CertificateOptions, spki: Buffer): Buffer[] {
  const keyId = createHash('sha256').update(spki).digest().subarray(0, 20);
  const common = [
    extension(OID.basicConstraints, true, isAuthority ? der.sequence(der.TRUE) : der.sequence()),
    extension(OID.keyUsage, true, isAuthority ? KEY_CERT_SIGN : DIGITAL_SIGNATURE),
    extension(OID.subjectKeyIdentifier, false, der.octetString(keyId)),
  ];
  if (isAuthority) return common;
  return [
    ...common,
    extension(OID.extendedKeyUsage, false, der.sequence(der.oid(OID.serverAuth))),
    extension(OID.subjectAltName, false, der.sequence(...hosts.map(generalName))),
  ];
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.TRUE] : []), der.octetString(value));
}

function generalName(host: string): Buffer {
  return isIP(host) === 4
    ? der.implicit(GENERAL_NAME.ip, Buffer.from(host.split('.').map(Number)))
    : der.implicit(GENERAL_NAME.dns, Buffer.from(host, 'latin1'));
}

function signatureAlgorithm(): Buffer {
  return der.sequence(der.oid(OID.ecdsaWithSha256));
}
