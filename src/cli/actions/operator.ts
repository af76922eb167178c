import { UsageError } from '../../base/errors.ts';
import { isTier, TIERS, type Tier } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import {
  createUser,
  deleteAccount,
  endSessionsOf,
  issueToken,
  listUsers,
  sessionsOf,
  setTier,
} from '../../control/accounts/rules.ts';
import { listAllNamespaces, setPublicRead, setSuspended } from '../../control/namespaces/rules.ts';
import {
  dissolveOrganization,
  listAllOrganizations,
  setOrganizationTier,
} from '../../control/organizations/rules.ts';
import { withStore } from '../context.ts';
import { print, table } from '../output.ts';

export async function userCreate(clock: Clock, email: string, tier: string, json: boolean): Promise<void> {
  const user = await withStore(clock, ({ deps }) => createUser(deps, email, parseTier(tier)), {
    mayCreate: true,
  });
  print(json ? JSON.stringify(user) : `${user.email} ${user.tier} ${user.id}`);
}

/** Prints a customer JWT and nothing else, so that it can be taken by `$(...)`. */
export async function userToken(clock: Clock, email: string, json: boolean): Promise<void> {
  const { token, expiresAt } = await withStore(clock, ({ deps }) => issueToken(deps, email));
  print(json ? JSON.stringify({ token, expires_at: new Date(expiresAt).toISOString() }) : token);
}

export async function userTier(clock: Clock, email: string, tier: string, json: boolean): Promise<void> {
  await withStore(clock, ({ deps }) => setTier(deps, email, parseTier(tier)));
  print(json ? JSON.stringify({ email, tier }) : `${email} ${tier}`);
}

export async function userList(clock: Clock, json: boolean): Promise<void> {
  const users = await withStore(clock, ({ deps }) => listUsers(deps));
  if (json) {
    print(JSON.stringify(users));
    return;
  }
  const rows = users.map((user) => [
    user.email,
    user.tier,
    String(user.records_count),
    user.created_at,
    user.id,
  ]);
  print(table([['EMAIL', 'TIER', 'RECORDS', 'CREATED', 'ID'], ...rows]));
}

/** The running server erases what is left; without one, the next start does. */
export async function userDelete(clock: Clock, email: string, json: boolean): Promise<void> {
  await withStore(clock, ({ deps }) => deleteAccount(deps, email));
  print(json ? JSON.stringify({ email, deleted: true }) : `${email} deleted; the server erases its data`);
}

export async function userSessions(clock: Clock, email: string, end: boolean, json: boolean): Promise<void> {
  if (end) {
    const ended = await withStore(clock, ({ deps }) => endSessionsOf(deps, email));
    print(json ? JSON.stringify({ email, ended }) : `${ended} sessions of ${email} ended`);
    return;
  }
  const sessions = await withStore(clock, ({ deps }) => sessionsOf(deps, email));
  if (json) {
    print(JSON.stringify(sessions));
    return;
  }
  const rows = sessions.map((session) => [
    session.id,
    session.method,
    session.created_at,
    session.last_used_at ?? '-',
    session.expires_at,
  ]);
  print(table([['ID', 'METHOD', 'CREATED', 'LAST USED', 'ENDS'], ...rows]));
}

export async function namespaceList(clock: Clock, json: boolean): Promise<void> {
  const namespaces = await withStore(clock, ({ deps }) => listAllNamespaces(deps));
  if (json) {
    print(JSON.stringify(namespaces));
    return;
  }
  const rows = namespaces.map((namespace) => [
    namespace.name,
    namespace.owner,
    String(namespace.records_count),
    namespace.public_read ? 'on' : 'off',
    namespace.suspended ? 'on' : 'off',
    String(namespace.max_ttl),
    namespace.history === undefined ? '-' : `${namespace.history.versions}/${namespace.history.days}d`,
    namespace.id,
  ]);
  const head = ['NAME', 'OWNER', 'RECORDS', 'PUBLIC-READ', 'SUSPENDED', 'MAX-TTL', 'HISTORY', 'ID'];
  print(table([head, ...rows]));
}

const FLAGS = { 'public-read': setPublicRead, suspend: setSuspended } as const;

export async function namespaceFlag(
  clock: Clock,
  flag: keyof typeof FLAGS,
  name: string,
  value: string,
  json: boolean,
): Promise<void> {
  if (value !== 'on' && value !== 'off') throw new UsageError('the last argument must be on or off');
  await withStore(clock, ({ deps }) => FLAGS[flag](deps, name, value === 'on'));
  print(json ? JSON.stringify({ namespace: name, [flag]: value === 'on' }) : `${name} ${flag} ${value}`);
}

/** @throws UsageError */
function parseTier(text: string): Tier {
  if (!isTier(text)) throw new UsageError(`a tier is one of ${Object.keys(TIERS).join(', ')}`);
  return text;
}

export async function organizationList(clock: Clock, json: boolean): Promise<void> {
  const all = await withStore(clock, ({ deps }) => listAllOrganizations(deps));
  if (json) {
    print(JSON.stringify(all));
    return;
  }
  const rows = all.map(({ name, tier, records_count, members_count, owner, id }) => [
    name,
    tier,
    String(records_count),
    String(members_count),
    owner,
    id,
  ]);
  print(table([['NAME', 'TIER', 'RECORDS', 'MEMBERS', 'OWNER', 'ID'], ...rows]));
}

export async function organizationTier(clock: Clock, id: string, tier: string, json: boolean): Promise<void> {
  await withStore(clock, ({ deps }) => setOrganizationTier(deps, id.toLowerCase(), parseTier(tier)));
  print(json ? JSON.stringify({ id, tier }) : `${id} ${tier}`);
}

export async function organizationDelete(clock: Clock, id: string, json: boolean): Promise<void> {
  await withStore(clock, ({ deps }) => dissolveOrganization(deps, id.toLowerCase()));
  print(json ? JSON.stringify({ id, deleted: true }) : `${id} deleted; the server erases its data`);
}
