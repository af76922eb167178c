/** The key by which an end identifies itself to NATS. */
export interface Nkey {
  /** `U…`: stands in the broker's configuration. */
  readonly publicKey: string;
  /** `SU…`: secret. */
  readonly seed: string;
}

export async function makeNkey(): Promise<Nkey> {
  const { nkeys } = await import('@nats-io/transport-node');
  const pair = nkeys.createUser();
  return { publicKey: pair.getPublicKey(), seed: Buffer.from(pair.getSeed()).toString('latin1') };
}
