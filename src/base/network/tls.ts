export interface CertificatePair {
  /** PEM, the leaf first; intermediates may follow. */
  readonly cert: string;
  /** PEM (PKCS #8, PKCS #1 or SEC 1), without a passphrase. */
  readonly key: string;
}
