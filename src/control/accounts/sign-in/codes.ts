import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Store, Tx } from '../../store/store.ts';
import { countTry, deleteCode, putCode } from '../../store/tables/sign-in-codes.ts';

const VALID_MS = LIMITS.signInCodeMinutes * 60_000;
const DIGITS = 6;

export interface SignInCodes {
  /** A pseudonym of the mail address: key of budgets and rows, so that neither holds addresses of strangers. */
  addressKey(email: string): string;
  /** Makes a code, which replaces the address's earlier one. Does the same with and without an account. */
  issue(email: string): Promise<string>;
  /**
   * Uses up a code in the unit of work that begins the session. The caller must commit also when the code is wrong: the try counts.
   * @returns whether the code was right, in time and not void
   */
  use(tx: Tx, email: string, code: string): Promise<boolean>;
}

interface CodeDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * Six-digit codes for sign-in, in the database, so that tries are counted over all processes.
 * @param secret of the server: hashes are keyed, because a plain hash of six digits can be guessed
 */
export function openSignInCodes({ store, clock, random }: CodeDeps, secret: Uint8Array): SignInCodes {
  const key = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), 'uqrp sign-in code v1', 32));
  const hash = (...parts: string[]): string =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex');
  const addressKey = (email: string): string => hash('address', email);
  const digestOf = (email: string, code: string): string => hash('code', email, code);
  return {
    addressKey,
    async issue(email) {
      const code = newCode(random);
      const now = clock();
      const row = {
        address: addressKey(email),
        digest: digestOf(email, code),
        tries: 0,
        expires_at: now + VALID_MS,
      };
      await store.write((tx) => putCode(tx, row, now));
      return code;
    },
    async use(tx, email, code) {
      const address = addressKey(email);
      const given = digestOf(email, code);
      const stored = await countTry(tx, address, LIMITS.signInCodeTries, clock());
      if (stored === null || !timingSafeEqual(Buffer.from(given), Buffer.from(stored))) return false;
      await deleteCode(tx, address);
      return true;
    },
  };
}

/** Of 2^48 values, 10^6 are not a divisor: the bias is below 1 in 10^8. */
function newCode(random: CodeDeps['random']): string {
  const number = Buffer.from(random(6)).readUIntBE(0, 6) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}
