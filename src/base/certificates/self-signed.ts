/** The self-signed certificate of a server without one. Clients cannot verify it. */

import { generateKeyPairSync } from 'node:crypto';
import type { CertificatePair } from '../network/tls.ts';
import { signCertificate } from './x509.ts';

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
