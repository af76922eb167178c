import { AppError, unauthenticated } from '../../../core/errors.ts';
import type { Tx } from '../../store/store.ts';
import { findUserByEmail, insertUser } from '../../store/tables/users.ts';
import type { HasClock, HasCodes, HasIds, HasSessions, HasStore } from '../deps.ts';
import type { NewSession } from '../sessions.ts';

type VerifyDeps = HasStore & HasClock & HasIds & HasSessions & HasCodes;

/**
 * Begins a session for a right code. The first one for an address makes the account, in the same unit of work: who cannot read the
 * mail cannot make rows.
 * @throws AppError 401, one text for codes that are wrong, void, expired or were never sent
 */
export async function signInByCode(deps: VerifyDeps, email: string, code: string): Promise<NewSession> {
  const session = await deps.store.write(async (tx) => {
    // Returned, not thrown: the unit must commit, so that the try counts.
    if (!(await deps.codes.use(tx, email, code))) return null;
    return deps.sessions.begin(tx, await userOf(tx, deps, email), 'code');
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
