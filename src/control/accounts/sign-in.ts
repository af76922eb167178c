import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { AppError, unauthenticated } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { findUserByEmail, insertUser } from '../../store/accounts.ts';
import {
  codesOf,
  countTry,
  deleteCode,
  forgetEndedCodes,
  isKnownBrowser,
  putBrowser,
  putCode,
  type SignInCodesTable,
} from '../../store/sign-in.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { HasRefusals } from '../audit/refusals.ts';
import type { HasClock, HasIds, HasStore } from '../deps.ts';
import type { HasSessions, NewSession } from './sessions.ts';

const VALID_MS = LIMITS.signInCodeMinutes * 60_000;
const BROWSER_MS = LIMITS.signInBrowserDays * 86_400_000;
const DIGITS = 6;
/** Octets of a flow, and of the secret of a browser: 22 characters each. */
const SECRET_OCTETS = 16;

/** Spelling of a flow and of a browser's secret. */
export const FLOW_FORM = /^[A-Za-z0-9_-]{22}$/;

/** Who asks for a code: a network, or a browser that the address has signed in from, as `knownBrowser` gives it. */
type Asker = { readonly network: string } | { readonly browser: string };

interface SignInCodes {
  /** A pseudonym of the mail address: key of budgets and rows, so that neither holds addresses of strangers. */
  addressKey(email: string): string;
  /** Makes a code, and the flow that it belongs to. Does the same with and without an account. */
  issue(email: string, asker: Asker): Promise<{ readonly code: string; readonly flow: string }>;
  /** Whether a flow has a code of the address that is neither used, late nor void. */
  isOpen(email: string, flow: string): Promise<boolean>;
  /**
   * Uses up a code in the unit of work that begins the session. The caller must commit also when the code is wrong: the try counts.
   * @param flow null: the code may be any live one of the address, and no try of a flow is counted
   * @returns whether the code was right, in time and not void
   */
  use(tx: Tx, email: string, code: string, flow: string | null): Promise<boolean>;
  /** A pseudonym of the browser with this secret, when the address has signed in from it. */
  knownBrowser(email: string, secret: string | null): Promise<string | null>;
  /** Remembers the browser of a sign-in in its unit of work. @returns the secret for its cookie */
  remember(tx: Tx, email: string, userId: string, secret: string | null): Promise<string>;
}

export interface HasCodes {
  readonly codes: SignInCodes;
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
  const newSecret = (): string => Buffer.from(random(SECRET_OCTETS)).toString('base64url');
  const addressKey = (email: string): string => hash('address', email);
  const flowKey = (flow: string): string => hash('flow', flow);
  const browserKey = (email: string, browser: string): string => hash('browser', email, browser);
  const digestOf = (email: string, code: string): string => hash('code', email, code);
  const isLive = (row: SignInCodesTable): boolean =>
    row.expires_at > clock() && row.tries < LIMITS.signInCodeTries;

  async function useAny(tx: Tx, email: string, given: string): Promise<boolean> {
    const address = addressKey(email);
    // All are compared, so that the time does not tell which one was right.
    const right = (await codesOf(tx, address)).filter(isLive).filter(({ digest }) => isSame(digest, given));
    for (const { flow } of right) if (await deleteCode(tx, address, flow)) return true;
    return false;
  }

  return {
    addressKey,
    async issue(email, asker) {
      const [code, flow] = [newCode(random), newSecret()];
      const address = addressKey(email);
      const row = {
        address,
        flow: flowKey(flow),
        digest: digestOf(email, code),
        network: 'network' in asker ? hash('network', email, asker.network) : null,
        tries: 0,
        expires_at: clock() + VALID_MS,
      };
      await store.write(async (tx) => {
        await forgetEndedCodes(tx, clock());
        // Repeated only when another unit has taken the slot meanwhile.
        for (let isStored = false; !isStored; ) {
          const { slot, replaced } = slotFor(await codesOf(tx, address), isLive);
          isStored = await putCode(tx, { ...row, slot }, replaced);
        }
      });
      return { code, flow };
    },
    async isOpen(email, flow) {
      const wanted = flowKey(flow);
      const rows = await codesOf(store.read, addressKey(email));
      return rows.some((row) => isSame(row.flow, wanted) && isLive(row));
    },
    async use(tx, email, code, flow) {
      const given = digestOf(email, code);
      if (flow === null) return useAny(tx, email, given);
      const [address, wanted] = [addressKey(email), flowKey(flow)];
      const stored = await countTry(tx, address, wanted, LIMITS.signInCodeTries, clock());
      return stored !== null && isSame(stored, given) && (await deleteCode(tx, address, wanted));
    },
    async knownBrowser(email, browser) {
      if (browser === null) return null;
      const digest = browserKey(email, browser);
      return (await isKnownBrowser(store.read, digest, clock())) ? digest : null;
    },
    async remember(tx, email, userId, browser) {
      const now = clock();
      const isKnown = browser !== null && (await isKnownBrowser(tx, browserKey(email, browser), now));
      // A secret that the server did not make for this address could be known to somebody else.
      const kept = isKnown ? browser : newSecret();
      await putBrowser(tx, browserKey(email, kept), userId, now + BROWSER_MS, LIMITS.signInBrowsers);
      return kept;
    },
  };
}

/**
 * The slot of a new code: one without a live code; else that of the oldest code from the network that has asked for most. So a network
 * that asks again and again replaces its own. Codes of browsers that the address has signed in from are replaced last.
 * @returns `replaced`: the flow in the slot; null: the slot is empty
 */
function slotFor(
  rows: readonly SignInCodesTable[],
  isLive: (row: SignInCodesTable) => boolean,
): { readonly slot: number; readonly replaced: string | null } {
  for (let slot = 0; slot < LIMITS.signInCodes; slot++) {
    const row = rows.find((one) => one.slot === slot);
    if (row === undefined || !isLive(row)) return { slot, replaced: row?.flow ?? null };
  }
  const weight = ({ network }: SignInCodesTable): number =>
    network === null ? 0 : rows.filter((one) => one.network === network).length;
  const [first] = rows.toSorted((a, b) => weight(b) - weight(a) || a.expires_at - b.expires_at);
  return { slot: first!.slot, replaced: first!.flow };
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** Of 2^48 values, 10^6 are not a divisor: the bias is below 1 in 10^8. */
function newCode(random: CodeDeps['random']): string {
  const number = Buffer.from(random(6)).readUIntBE(0, 6) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

type VerifyDeps = HasStore & HasClock & HasIds & HasSessions & HasCodes & HasRefusals;

/** What a sign-in by code presents. */
interface CodeSignIn {
  readonly email: string;
  readonly code: string;
  /** Null: an older client. */
  readonly flow: string | null;
  /** The browser's secret, which may be null, when the session becomes a cookie; undefined: a program. */
  readonly browser?: string | null;
  readonly requestId: string;
}

/** A session that a code began. `browser`: the secret for the browser's cookie; null for a program. */
interface CodeSession extends NewSession {
  readonly browser: string | null;
}

/**
 * Begins a session for a right code. The first one for an address makes the account, in the same unit of work: who cannot read the
 * mail cannot make rows.
 * @throws AppError 401, one text for codes that are wrong, void, expired or were never sent
 */
export async function signInByCode(
  deps: VerifyDeps,
  { email, code, flow, browser, requestId }: CodeSignIn,
): Promise<CodeSession> {
  const session = await deps.store.write(async (tx) => {
    // Returned, not thrown: the unit must commit, so that the try counts.
    if (!(await deps.codes.use(tx, email, code, flow))) return null;
    const begun = await deps.sessions.begin(tx, await userOf(tx, deps, email), 'code', requestId);
    const kept = browser === undefined ? null : await deps.codes.remember(tx, email, begun.userId, browser);
    return { ...begun, browser: kept };
  });
  if (session === null) {
    deps.refusals.signInFailed({ email }, requestId);
    throw unauthenticated('Code is not valid');
  }
  return session;
}

/** The id of the address's user, who is made when there is none. */
async function userOf(tx: Tx, { newId, clock }: HasIds & HasClock, email: string): Promise<string> {
  const known = await findUserByEmail(tx, email);
  if (known !== null) return known.id;
  const user = { id: newId(), email, role: 'user', created_at: clock() } as const;
  if (await insertUser(tx, user, 'free')) return user.id;
  // Made by another process since the search.
  const other = await findUserByEmail(tx, email);
  if (other === null) throw new AppError('server_error', 'Server error');
  return other.id;
}
