import { type BatchHeader, type BatchSecrets, NO_HASH } from '../../../../src/feed/message/batch.ts';
import { type FeedVerifier, feedVerifier } from '../../../../src/feed/message/keys.ts';
import { FeedRefusedError } from '../../../../src/feed/ports/refusal.ts';
import type { Change } from '../../../../src/protocol/change.ts';
import { countingNonces, hourKey, signingKeys } from './keys.ts';

export const EPOCH = '2f1c8a50-6d7e-4b1d-9c64-0a6b8f5b7c11';

const { signer, publicKey } = signingKeys(1);

export const verifier: FeedVerifier = feedVerifier([publicKey]);

export const secrets: BatchSecrets = { key: hourKey(7), signer, random: countingNonces() };

export function header(more: Partial<BatchHeader> = {}): Omit<BatchHeader, 'from' | 'to'> {
  return { epoch: EPOCH, streamSeq: 0, at: 1_000, previous: NO_HASH, ...more };
}

/** Revocations with these numbers: the smallest changes. */
export function revocations(from: number, to: number): Change[] {
  return Array.from({ length: to - from + 1 }, (_, i) => ({
    seq: from + i,
    at: 1_000,
    owner: 'customer',
    cause: 'direct',
    type: 'token.revoked',
    namespace: 'acme',
    digest: (from + i).toString(16).padStart(64, '0'),
  }));
}

/** Why a reader refuses, or `read`. Rethrows any other error. */
export function reasonOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof FeedRefusedError) return error.reason;
    throw error;
  }
  return 'read';
}
