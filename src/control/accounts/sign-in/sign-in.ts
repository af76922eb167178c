import { AppError, unauthenticated } from '../../../base/errors.ts';
import type { Tx } from '../../../store/store.ts';
import { findUserByEmail, insertUser } from '../../../store/tables/users.ts';
import type { HasClock, HasCodes, HasIds, HasSessions, HasStore } from '../deps.ts';
import type { NewSession } from '../sessions.ts';

type VerifyDeps = HasStore & HasClock & HasIds & HasSessions & HasCodes;

/** What a sign-in by code presents. */
export interface CodeSignIn {
  readonly email: string;
  readonly code: string;
  /** Null: an older client. */
  readonly flow: string | null;
  /** The browser's secret, which may be null, when the session becomes a cookie; undefined: a program. */
  readonly browser?: string | null;
}

/** A session that a code began. `browser`: the secret for the browser's cookie; null for a program. */
export interface CodeSession extends NewSession {
  readonly browser: string | null;
}

/**
 * Begins a session for a right code. The first one for an address makes the account, in the same unit of work: who cannot read the
 * mail cannot make rows.
 * @throws AppError 401, one text for codes that are wrong, void, expired or were never sent
 */
export async function signInByCode(
  deps: VerifyDeps,
  { email, code, flow, browser }: CodeSignIn,
): Promise<CodeSession> {
  const session = await deps.store.write(async (tx) => {
    // Returned, not thrown: the unit must commit, so that the try counts.
    if (!(await deps.codes.use(tx, email, code, flow))) return null;
    const begun = await deps.sessions.begin(tx, await userOf(tx, deps, email), 'code');
    const kept = browser === undefined ? null : await deps.codes.remember(tx, email, begun.userId, browser);
    return { ...begun, browser: kept };
  });
  if (session === null) throw unauthenticated('Code is not valid');
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
