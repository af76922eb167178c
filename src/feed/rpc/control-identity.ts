/**
 * What control processes and the command line share without a database: control's credentials. Their key is derived from the key that
 * signs the feed, so that the command line needs no hourly key.
 */
import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { type NkeyKeys, nkeyKeys } from '../bus/nats/nkey.ts';
import {
  type FeedKey,
  type FeedSigner,
  feedKey,
  feedKeyRing,
  feedSigner,
  KEY_OCTETS,
} from '../message/message.ts';
import { type ControlEnd, createExchange, type Exchange, type ExchangeOptions } from './rpc.ts';

/** The name in control's credentials. */
const CONTROL = 'control';
const INFO = 'uqrp feed status 1';

export interface ControlIdentity {
  readonly key: FeedKey;
  /** Of the feed. */
  readonly signer: FeedSigner;
  readonly nkey: NkeyKeys;
}

/**
 * @param sign PEM of the private key that signs the feed
 * @param seed of the nkey
 * @returns null for a damaged seed
 */
export function controlIdentity({
  sign,
  seed,
}: {
  readonly sign: string;
  readonly seed: string;
}): ControlIdentity | null {
  const nkey = nkeyKeys(seed);
  return nkey && identityOf(sign, nkey);
}

/** As `controlIdentity`, for a seed that was read. */
export function identityOf(sign: string, nkey: NkeyKeys): ControlIdentity {
  const privateKey = createPrivateKey(sign);
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' });
  return {
    key: feedKey(Buffer.from(hkdfSync('sha256', secret, '', INFO, KEY_OCTETS))),
    signer: feedSigner(privateKey, createPublicKey(privateKey)),
    nkey,
  };
}

/** How a holder of control's credentials asks a control process. */
export function controlExchange(
  { key, nkey }: ControlIdentity,
  options: Pick<ExchangeOptions, 'bus' | 'verifier' | 'random' | 'clock'>,
): Exchange {
  const ring = feedKeyRing([key]);
  return createExchange({
    ...options,
    name: CONTROL,
    signer: nkey.signer,
    presentKey: () => key,
    ring: () => ring,
  });
}

/** The end that answers it, and no node. */
export function statusEnd(
  { key, signer, nkey }: ControlIdentity,
  options: Omit<ControlEnd, 'keyOf' | 'ring' | 'secrets'> & Pick<ExchangeOptions, 'random'>,
): ControlEnd {
  const { random, ...end } = options;
  const ring = feedKeyRing([key]);
  return {
    ...end,
    keyOf: (name) => (name === CONTROL ? nkey.publicKey : null),
    ring: () => ring,
    secrets: () => ({ key, signer, random }),
  };
}
