/**
 * An organization of two users: its owner takes the other one in and removes him again, and he tries at any time what only a member may do.
 * One request after the other.
 */
import type { MembersCheck } from '../model/members.ts';
import { ModelError, type RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';
import type { Operator, Rest } from './clients.ts';

export interface Team {
  enter(step: number): void;
  /** Somebody does one thing in some steps, unless something is under way. */
  perhaps(): void;
  /** With nothing that fails: as a member he reads what belongs to the organization, and no more once he is removed. */
  finish(): void;
  isActing(): boolean;
  /** A backup was put back. */
  restored(): void;
}

interface TeamOptions {
  readonly random: Random;
  readonly rest: Rest;
  readonly operator: Operator;
  /** The token of the last invitation, by mail address. */
  readonly invitations: ReadonlyMap<string, string>;
  readonly check: MembersCheck;
  readonly wrong: (error: unknown) => void;
  readonly count: (what: string) => void;
}

interface User {
  readonly mail: string;
  /** Of his session; null: he has none, as far as he knows. */
  token: string | null;
}

const wrongly = (reason: string): ModelError => new ModelError(`the organization: ${reason}`);

/** In so many steps of a storm. */
const ACTS = 0.5;
const NAME = 'Team';
/** Of the organization alone. */
const NAMESPACE = 'zeta';

export function createTeam(options: TeamOptions): Team {
  const { random, rest, operator, invitations, check, wrong } = options;
  const owner: User = { mail: 'owner@example.net', token: null };
  const user: User = { mail: 'member@example.net', token: null };
  let organization: string | null = null;
  let isActing = false;
  /** As far as the last answer told. */
  let isMember = false;

  /** @returns null: no answer came */
  async function send(by: User, method: string, path: string, body?: object) {
    const request = { account: by.mail, credential: 'session', method, path, body };
    const outcome = await rest.request(request, by.token);
    if (outcome.answer?.status === 401) by.token = null;
    return outcome;
  }

  const isDone = (answer: RestAnswer | null): boolean =>
    answer !== null && answer.status >= 200 && answer.status < 300;

  /** Sessions, and the organization with its namespace. @returns its id; null: something is not there yet */
  async function founded(): Promise<string | null> {
    for (const each of [owner, user]) each.token ??= await operator.user(each.mail, 'team');
    if (owner.token === null || user.token === null) return null;
    if (organization !== null) return organization;
    const { answer: list } = await send(owner, 'GET', '/organizations');
    if (!isDone(list)) return null;
    const [known] = list!.body as readonly { readonly id: string }[];
    const id = known?.id ?? (await made());
    if (id === null) return null;
    const { answer: switched } = await send(owner, 'POST', '/auth/organization', { organization_id: id });
    if (!isDone(switched)) return null;
    const { answer } = await send(owner, 'POST', '/namespaces', { namespace: { name: NAMESPACE } });
    // Refused: it was made by a request that nobody got an answer to.
    if (isDone(answer) || answer?.status === 409 || answer?.status === 422) organization = id;
    return organization;
  }

  async function made(): Promise<string | null> {
    const { answer } = await send(owner, 'POST', '/organizations', { organization: { name: NAME } });
    return isDone(answer) ? answer!.body.id : null;
  }

  async function changed(next: boolean, by: User, method: string, path: string, body?: object) {
    const change = check.change(next);
    const outcome = await send(by, method, path, body);
    const { answer } = outcome;
    if (answer === null) change.lost(outcome.mayStill);
    else if (isDone(answer)) {
      change.done();
      isMember = next;
    } else if (answer.status >= 500) change.lost(false);
    else change.refused();
    return isDone(answer);
  }

  async function takeIn(id: string): Promise<boolean> {
    const invitation = { email: user.mail, role: 'member' };
    const { answer } = await send(owner, 'POST', `/organizations/${id}/invitations`, { invitation });
    const token = invitations.get(user.mail);
    if (!isDone(answer) || token === undefined) return false;
    return changed(true, user, 'POST', '/invitations/accept', { token });
  }

  async function remove(id: string): Promise<boolean> {
    const { answer } = await send(owner, 'GET', `/organizations/${id}/members`);
    if (!isDone(answer)) return false;
    const members = answer!.body as readonly { readonly user_id: string; readonly email: string }[];
    const found = members.find(({ email }) => email === user.mail);
    if (found === undefined) return false;
    return changed(false, owner, 'DELETE', `/organizations/${id}/members/${found.user_id}`);
  }

  /** He reads the organization, and what his session shows if it acts for it. @returns whether all of it was given */
  async function read(id: string): Promise<boolean> {
    const path = `/organizations/${id}`;
    const told = check.asks(`GET ${path}`);
    const { answer } = await send(user, 'GET', path);
    if (isDone(answer) || answer?.status === 404) told(isDone(answer));
    return isDone(answer);
  }

  /** His session acts for the organization from then on, until he is removed. */
  async function switchTo(id: string): Promise<boolean> {
    return isDone((await send(user, 'POST', '/auth/organization', { organization_id: id })).answer);
  }

  /** @returns whether his session shows what belongs to the organization */
  async function look(): Promise<boolean> {
    const told = check.asks('its namespace');
    const { answer } = await send(user, 'GET', '/namespaces');
    const list = isDone(answer) ? (answer!.body as readonly { readonly name: string }[]) : [];
    const isGiven = list.some(({ name }) => name === NAMESPACE);
    // It may act for his own account.
    if (isGiven) told(true);
    return isGiven;
  }

  const acts: Readonly<Record<string, (id: string) => Promise<boolean>>> = {
    'is taken in': takeIn,
    'is removed': remove,
    reads: read,
    switches: switchTo,
    looks: look,
  };

  async function act(what: string): Promise<boolean> {
    const id = await founded();
    const isGood = id !== null && (await acts[what]!(id));
    if (isGood) options.count(`member ${what}`);
    return isGood;
  }

  /** A session that has ended meanwhile is another one at the second time. */
  const twice = async (what: string): Promise<boolean> => (await act(what)) || act(what);

  /** @returns what a success says. @throws ModelError */
  async function must(by: User, method: string, path: string, body?: object): Promise<RestAnswer['body']> {
    const { answer } = await send(by, method, path, body);
    if (isDone(answer)) return answer!.body;
    throw wrongly(`${by.mail} ${method} ${path} is answered ${answer?.status}, with nothing that fails`);
  }

  /** @throws ModelError */
  async function all(): Promise<void> {
    // Where everything slept for a month, both sessions have ended.
    for (const by of [owner, user]) await send(by, 'GET', '/organizations');
    const isIn = (await twice('reads')) || (await twice('is taken in'));
    if (!isIn) throw wrongly('nobody is taken in, with nothing that fails');
    for (const what of ['reads', 'switches', 'looks'])
      if (!(await twice(what))) throw wrongly(`no member ${what}, with nothing that fails`);
    await must(owner, 'POST', '/auth/organization', { organization_id: organization });
    const namespaces = (await must(owner, 'GET', '/namespaces')) as readonly { id: string; name: string }[];
    const path = `/namespaces/${namespaces.find(({ name }) => name === NAMESPACE)?.id}/query_tokens`;
    const minted = { name: 't', expires_in_days: 1 };
    const kept: string = (await must(owner, 'POST', path, minted)).id;
    const revoked: string = (await must(user, 'POST', path, minted)).id;
    if (!(await twice('is removed'))) throw wrongly('no member is removed, with nothing that fails');
    for (const what of ['looks', 'reads'])
      if (await act(what)) throw wrongly(`a user who was removed ${what}`);
    const tokens = (await must(owner, 'GET', path)) as readonly { id: string; revoked_at: string | null }[];
    const isLive = (id: string): boolean => tokens.some((each) => each.id === id && each.revoked_at === null);
    if (isLive(revoked)) throw wrongly('a query token of a user who was removed is not revoked');
    if (!isLive(kept)) throw wrongly('a query token of its owner is revoked');
  }

  function begin(run: () => Promise<unknown>): void {
    isActing = true;
    void run()
      .catch(wrong)
      .finally(() => {
        isActing = false;
      });
  }

  return {
    enter: (step) => random.enter(step),
    perhaps() {
      if (!random.chance(ACTS) || isActing) return;
      const what = !isMember && random.chance(0.6) ? 'is taken in' : random.pick(Object.keys(acts));
      begin(() => act(what));
    },
    finish: () => begin(all),
    isActing: () => isActing,
    restored() {
      organization = null;
      isMember = false;
      check.restored();
    },
  };
}
