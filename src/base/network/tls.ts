export interface CertificatePair {
  /** PEM, the leaf first; intermediates may follow. */
  readonly cert: string;
  /** PEM (PKCS #8, PKCS #1 or SEC 1), without a passphrase. */
  readonly key: string;
}

/** Faults of the operator's certificate. The texts are fixed, so that logs may contain them. */
export const TLS_FAULTS = {
  certFile: 'UQRP_TLS_CERT must be a file that this user can read: look at its path and rights',
  keyFile: 'UQRP_TLS_KEY must be a file that this user can read: look at its path and rights',
  certForm: 'UQRP_TLS_CERT must be a PEM file with a certificate',
  keyForm: 'UQRP_TLS_KEY must be a PEM file with a private key without a passphrase',
  pair: 'UQRP_TLS_KEY must be the key of UQRP_TLS_CERT',
  other: 'another fault, see error',
} as const;

export type TlsFault = (typeof TLS_FAULTS)[keyof typeof TLS_FAULTS];

export function tlsFaultOf(faults: readonly string[]): TlsFault {
  return Object.values(TLS_FAULTS).find((text) => faults.includes(text)) ?? TLS_FAULTS.other;
}
