/** Who is signed in. */
import { signal } from '@preact/signals';
import { ApiError, type UserResource } from '../../../sdk/src/uqrp-sdk.ts';
import { forgetDrafts } from '../data/drafts.ts';
import { forgetResources, refetchAll, restRetriesWhile } from '../data/resource.ts';
import { retryAt } from '../data/retry.ts';
import { forgetToasts } from '../ui/toast.tsx';
import { api, whenSessionIsLost } from './client.ts';
import { handedName } from './handed-name.ts';
import { tellOtherTabs, whenOtherTabTells } from './other-tabs.ts';
import { forgetVisits } from './recent.ts';
import { leaveWithoutQuestion } from './router.ts';
import { tabStep } from './tab-step.ts';

/**
 * `asking`: not known yet. `out`: nobody. `in`: `user`. `lost`: the session ended while a page was open; `user` is who it was of, and
 * the page stays as it is until somebody signs in over it. `unreachable`: the server did not answer the first question.
 */
export type Session =
  | { readonly phase: 'asking' }
  /** `hasLeft`: by the wish of the user, who then does not want to come back to the same page. */
  | { readonly phase: 'out'; readonly hasLeft: boolean }
  | { readonly phase: 'in' | 'lost'; readonly user: UserResource }
  | { readonly phase: 'unreachable'; readonly error: unknown };

export const session = signal<Session>({ phase: 'asking' });

/** Whether `/` is the page of visitors, which the server sends. */
export function isLandingOn(): boolean {
  return session.value.phase === 'out' && document.documentElement.dataset.front !== 'off';
}

function loseSession(): void {
  const now = session.value;
  if (now.phase === 'in') session.value = { phase: 'lost', user: now.user };
}

whenSessionIsLost(loseSession);
// Each retry would be a 401. The sign-in over the page reads everything again.
restRetriesWhile(() => session.peek().phase === 'lost');

/** Whose data a session shows: those of the user, or of an organization. Ids are no secrets. */
export function identityOf({ id, organization }: Pick<UserResource, 'id' | 'organization'>): string {
  return organization === undefined ? id : `${id} ${organization.id}`;
}

/** Compares whose session the cookie is of with that of the page. @param identity null: somebody has signed out */
function takeNotice(identity: string | null): void {
  const now = session.peek();
  if (now.phase !== 'in' && now.phase !== 'lost') return;
  const step = tabStep(now.phase, identityOf(now.user), identity);
  if (step === 'leave') endHere();
  if (step === 'resume') signedInHere(now.user);
  if (step === 'reload') {
    // A question would leave a page of one user on the session of another.
    leaveWithoutQuestion();
    location.reload();
  }
}

/** Follows what other tabs do with the session. A tab that was asleep missed their messages, so it asks when it becomes visible. */
export function followSession(): void {
  whenOtherTabTells(takeNotice);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible' && session.peek().phase === 'in') {
      refreshUser().catch(() => undefined);
    }
  });
}

/** The signed-in user. Only for screens, which are shown to nobody else. */
export function useUser(): UserResource {
  const now = session.value;
  if (now.phase === 'in' || now.phase === 'lost') return now.user;
  throw new Error('a screen is shown without a session');
}

let askingAgain: ReturnType<typeof setTimeout> | undefined;

/** Whether the user may do what an organization leaves to its owners. Everybody owns the own account. */
export function useIsOwner(): boolean {
  return useUser().organization?.role !== 'member';
}

/** Asks the server who is signed in, until it answers. @param failures in a row before this try */
export async function startSession(failures = 0): Promise<void> {
  clearTimeout(askingAgain);
  // The server marks the page when the request came without a session cookie. The question would only be a 401 then.
  if (document.documentElement.dataset.session === 'none') {
    session.value = { phase: 'out', hasLeft: false };
    return;
  }
  // A page that says why it waits goes on saying so.
  if (failures === 0) session.value = { phase: 'asking' };
  try {
    session.value = { phase: 'in', user: await api.me() };
  } catch (error) {
    const isOut = error instanceof ApiError && error.status === 401;
    session.value = isOut ? { phase: 'out', hasLeft: false } : { phase: 'unreachable', error };
    const { waitMs } = retryAt(error, failures + 1);
    if (waitMs !== null) askingAgain = setTimeout(() => void startSession(failures + 1), waitMs);
  }
}

/** After a successful sign-in. What another user has read is forgotten. */
export function signedIn(user: UserResource): void {
  signedInHere(user);
  tellOtherTabs(identityOf(user));
}

function signedInHere(user: UserResource): void {
  const before = session.value;
  const isSame = before.phase === 'lost' && identityOf(before.user) === identityOf(user);
  if (!isSame) forgetAll();
  session.value = { phase: 'in', user };
  if (isSame) refetchAll();
}

/** Another person may sign in here. */
function forgetAll(): void {
  forgetResources();
  forgetToasts();
  forgetDrafts();
  forgetVisits();
  handedName.value = null;
}

/** Ends the session here and on the server. */
export async function signOut(): Promise<void> {
  try {
    await api.auth.signOut();
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  signedOut();
}

/** The user has ended the session. */
export function signedOut(): void {
  endHere();
  tellOtherTabs(null);
}

/** Nothing of the user stays in the page, in this tab and in others. The shell then leads to the sign-in. */
function endHere(): void {
  delete document.documentElement.dataset.session;
  session.value = { phase: 'out', hasLeft: true };
  forgetAll();
}

/** Reads the user again: the counts change with what is made and deleted, and another tab may have signed in somebody else. */
export async function refreshUser(): Promise<void> {
  const user = await api.me();
  const now = session.peek();
  if (now.phase === 'in' && identityOf(now.user) === identityOf(user)) session.value = { phase: 'in', user };
  else takeNotice(identityOf(user));
}

/** The session acts for an organization from now on, or for the own account (null): every tab reads everything again. */
export function switchedOrganization(userId: string, organizationId: string | null): void {
  tellOtherTabs(organizationId === null ? userId : `${userId} ${organizationId}`);
  leaveWithoutQuestion();
  location.reload();
}
