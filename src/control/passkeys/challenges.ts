import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { countUsedChallenges, forgetUsedChallenges, insertUsedChallenge } from '../../store/passkeys.ts';
import type { Tx } from '../../store/store.ts';
import type { HasStore } from '../deps.ts';

const RANDOM_OCTETS = 16;
/** Milliseconds since the epoch as a 48-bit integer. */
const TIME_OCTETS = 6;
const BODY_OCTETS = RANDOM_OCTETS + TIME_OCTETS;
const MAC_OCTETS = 32;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Milliseconds. */
export const CHALLENGE_LIFE = LIMITS.passkeyChallengeMinutes * 60_000;

/** Milliseconds that a used challenge is kept past its end, because the clocks of several processes differ. */
const KEPT_AFTER_END = 60_000;
/** Rows of one unit of work. More would delay writers. */
const SWEEP_BATCH = 500;

/** What a challenge was issued for; it is void for anything else. `add` names the user who adds a passkey. */
export type Purpose = { readonly kind: 'sign_in' } | { readonly kind: 'add'; readonly userId: string };

/** A challenge with a valid code that had not ended. Whether it was used, `useChallenge` finds out. */
export interface CheckedChallenge {
  /** Lower-case hex SHA-256. */
  readonly digest: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface Challenges {
  issue(purpose: Purpose): Uint8Array<ArrayBuffer>;
  /** @param challenge Base64url. @returns null when it is forged, has ended or was issued for another purpose */
  check(challenge: string, purpose: Purpose): CheckedChallenge | null;
}

interface ChallengeDeps {
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * Challenges that carry their end and a code over both and their purpose. Issuing one stores nothing: requests without a
 * credential fill no table, and none can remove another's challenge.
 * @param key 32 octets, the same in every process
 */
export function openChallenges({ clock, random }: ChallengeDeps, key: Uint8Array): Challenges {
  if (key.length !== MAC_OCTETS) throw new RangeError('the key of passkey challenges must have 32 octets');
  const macOf = (body: Uint8Array, purpose: Purpose): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose.kind, purpose.kind === 'add' ? purpose.userId : null]))
      .update(body)
      .digest();
  return {
    issue(purpose) {
      const body = Buffer.alloc(BODY_OCTETS);
      body.set(random(RANDOM_OCTETS));
      body.writeUIntBE(clock() + CHALLENGE_LIFE, RANDOM_OCTETS, TIME_OCTETS);
      return Uint8Array.from([...body, ...macOf(body, purpose)]);
    },
    check(challenge, purpose) {
      if (!BASE64URL.test(challenge)) return null;
      const octets = Buffer.from(challenge, 'base64url');
      if (octets.length !== BODY_OCTETS + MAC_OCTETS) return null;
      const body = octets.subarray(0, BODY_OCTETS);
      if (!timingSafeEqual(octets.subarray(BODY_OCTETS), macOf(body, purpose))) return null;
      const expiresAt = body.readUIntBE(RANDOM_OCTETS, TIME_OCTETS);
      if (expiresAt <= clock()) return null;
      // Of the octets, not of the text: several texts stand for the same octets.
      return { digest: createHash('sha256').update(octets).digest('hex'), expiresAt };
    },
  };
}

/**
 * Marks a challenge as used, in the unit of work of what it allows. Of two units with one challenge, in any process, one gets true.
 * @returns false when it was used before or has ended since it was checked
 * @throws AppError 429 when the user has used too many
 */
export async function useChallenge(
  tx: Tx,
  { digest, expiresAt }: CheckedChallenge,
  userId: string,
  now: number,
): Promise<boolean> {
  if (expiresAt <= now) return false;
  if ((await countUsedChallenges(tx, userId, now)) >= LIMITS.passkeyChallengesPerUser) {
    throw new AppError('rate_limit_exceeded', 'Rate limit exceeded', { retryAfter: CHALLENGE_LIFE / 1000 });
  }
  return insertUsedChallenge(tx, { digest, user_id: userId, expires_at: expiresAt });
}

/** Deletes used challenges once they have ended. */
export async function sweepChallenges({ store, clock }: HasStore & { readonly clock: Clock }): Promise<void> {
  const before = clock() - KEPT_AFTER_END;
  while ((await store.write((tx) => forgetUsedChallenges(tx, before, SWEEP_BATCH))) === SWEEP_BATCH);
}
