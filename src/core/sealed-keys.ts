/** The signing keys of one zone on their way from the control side to the edge: private keys are encrypted. */
export interface SealedKeySet {
  /** Lower-case text without trailing dot: `uqrp.net`. */
  readonly zone: string;
  /** 1 for the first set of a zone, one more with every step of a rollover. */
  readonly version: number;
  /** JSON text, made and read by `edge/dnssec/keys/key-encryption.ts`. No secret in the clear. */
  readonly document: string;
}
