/** Signing keys of one zone as the control side sends them to the edge. The private keys are encrypted. */
export interface EncryptedKeySet {
  /** Lower case, without a trailing dot. */
  readonly zone: string;
  /** 1 for the first set of a zone; each step of a rollover adds 1. */
  readonly version: number;
  /** JSON that `dns/dnssec/keys/key-encryption.ts` writes and reads. */
  readonly document: string;
}
