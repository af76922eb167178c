/** A private certificate authority for the connections between control, nodes and their broker. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { CertificatePair } from '../network/tls.ts';
import { signCertificate } from './x509.ts';

/** Ten years: a node is cut off by its nkey, not by its certificate, and an expired authority would stop every node at once. */
const VALID_DAYS = 3650;
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
  const own = { subject: NAME, issuer: NAME, publicKey, signer: privateKey, now, days: VALID_DAYS };
  const cert = signCertificate({ ...own, use: 'authority', names: [] });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** A fresh P-256 key and its certificate, signed by the authority; both PEM. */
export function issueCertificate(authority: CertificatePair, options: IssueOptions): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const signer = createPrivateKey(authority.key);
  const cert = signCertificate({ ...options, issuer: NAME, publicKey, signer, days: VALID_DAYS });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
