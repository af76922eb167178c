import { AppError, invalid, notFound, unauthenticated } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull, NOT_A_TIME, parseTime } from '../../base/time.ts';
import { type Actor, requireSession } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import {
  badParameter,
  limitParameter,
  type QueryParameters,
  readLimit,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { BOOLEAN, integerOf, nameOf, optional, required, shape } from '../../protocol/input/shape.ts';
import {
  QUERY_TOKEN_BYTES,
  QUERY_TOKEN_FORM,
  queryTokenDigest,
  spellQueryToken,
} from '../../protocol/query/query-token.ts';
import { holdSession } from '../../store/accounts.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import { lockNamespace } from '../../store/namespaces.ts';
import {
  type EndingToken,
  forgetEndedTokens,
  insertQueryToken,
  listEndingTokens,
  listQueryTokens,
  liveQueryTokens,
  type QueryTokenRow,
  revokeQueryToken,
} from '../../store/query-tokens.ts';
import type { Tx } from '../../store/store.ts';
import { MADE_BY, type Maker, makersFor } from '../accounts/membership.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasRandom, HasStore, HasUnit } from '../deps.ts';
import { authorizeNamespace, requireNotSuspended } from './rules.ts';

const DAY = 86_400_000;

/** Milliseconds that ended tokens stay in the list. A later mint deletes them. */
const ENDED_KEPT = 30 * DAY;
/** Ended tokens that one mint deletes. Other writers wait for it. */
const FORGOTTEN = 500;

const TOO_LONG_FOR_MEMBER = `expires_in_days must be at most ${LIMITS.queryTokenDaysOfMember} for a member who is no owner`;

/** Without the plaintext. */
type QueryTokenResource = ReturnType<typeof tokenResource>;

/** The only response with the plaintext. */
type MintedToken = QueryTokenResource & { readonly token: string };

const TOKEN_FIELDS = {
  id: UUID,
  name: { type: 'string', examples: ['office'] },
  namespace_id: UUID,
  expires_at: TIME,
  revoked_at: TIME_OR_NULL,
  created_at: TIME,
  created_by: MADE_BY,
  session: {
    type: 'boolean',
    description: 'true: a signed-in page minted it for its own reads, and it ends with that session',
    examples: [false],
  },
} as const;

export const QUERY_TOKEN_SCHEMA = resourceSchema<QueryTokenResource>('QueryToken', TOKEN_FIELDS);

export const MINTED_TOKEN_SCHEMA = resourceSchema<MintedToken>('MintedQueryToken', {
  ...TOKEN_FIELDS,
  token: {
    type: 'string',
    pattern: QUERY_TOKEN_FORM,
    description: 'In this answer only',
    examples: [`svcq${'0123456789abcdefghijklmnopqrstuv'.repeat(2).slice(0, 52)}`],
  },
});

/** The body has no envelope. */
export const MINT = shape('NewQueryToken', {
  name: required(nameOf(LIMITS.queryTokenName, 'office')),
  expires_in_days: optional(
    integerOf(1, LIMITS.queryTokenDaysMax, {
      description: `${LIMITS.queryTokenDaysDefault} unless given`,
      examples: [90],
    }),
  ),
  session: optional({
    ...BOOLEAN,
    schema: {
      ...BOOLEAN.schema,
      description:
        'true: the token ends with the session of the request, and replaces the one that the session had for this namespace. Not for API keys, and not with expires_in_days',
    },
  }),
});

/** A token with the namespace that it opens. */
type EndingTokenResource = QueryTokenResource & { readonly namespace: string };

export const ENDING_TOKENS_SCHEMA = resourceSchema<EndingTokenResource>('EndingQueryToken', {
  ...TOKEN_FIELDS,
  namespace: { type: 'string', description: 'Name of the namespace', examples: ['acme'] },
});

const ENDING_DEFAULT = 20;

export const ENDING_PARAMETERS = {
  expiring_before: { schema: TIME, description: 'Only those that end before this time' },
  limit: limitParameter('Tokens', ENDING_DEFAULT, LIMITS.pageMax),
} as const;

function tokenResource(row: QueryTokenRow, makerOf: (id: string | null) => Maker | null) {
  return {
    id: row.id,
    name: row.name,
    namespace_id: row.namespace_id,
    expires_at: formatTime(row.expires_at),
    revoked_at: formatTimeOrNull(row.revoked_at),
    created_at: formatTime(row.created_at),
    created_by: makerOf(row.created_by),
    session: row.session_id !== null,
  };
}

/** @throws AppError 404, 403 (also while suspended), 422 for faults in the body or too many live tokens */
export async function mintQueryToken(
  deps: HasStore & HasUnit & HasClock & HasRandom & HasIds,
  actor: Actor,
  namespaceId: string,
  body: JsonObject,
): Promise<MintedToken> {
  const { name: namespace } = await authorizeNamespace(deps, actor, namespaceId);
  const { name, expires_in_days: given, session = false } = MINT.parse(body, undefined);
  if (session) requireSession(actor);
  if (session && given !== undefined) throw invalid('expires_in_days is not for a token of a session');
  const days = given ?? LIMITS.queryTokenDaysDefault;
  requireDays(actor, days);
  const now = deps.clock();
  const token = spellQueryToken(deps.random(QUERY_TOKEN_BYTES));
  const asked: QueryTokenRow = {
    id: deps.newId(),
    namespace_id: namespaceId,
    name,
    digest: queryTokenDigest(token),
    expires_at: now + days * DAY,
    revoked_at: null,
    created_at: now,
    created_by: actor.userId,
    session_id: session ? actor.sessionId : null,
  };
  return deps.unit(actor, async (tx, held) => {
    requireDays(held, days);
    const home = await lockNamespace(tx, namespaceId, actor.customerId);
    if (home === null) throw notFound('Namespace');
    requireNotSuspended(home);
    const row = await boundToSession(tx, asked, now);
    // One of the newest is minted here.
    const newest = LIMITS.queryTokensListed - 1;
    await forgetEndedTokens(tx, { namespaceId, before: now - ENDED_KEPT, newest, limit: FORGOTTEN }, now);
    const live = await liveQueryTokens(tx, namespaceId, now);
    const replaced = live.filter((one) => row.session_id !== null && one.session_id === row.session_id);
    for (const old of replaced) await revokeIn(tx, actor, old.id, { id: namespaceId, name: namespace }, now);
    if (live.length - replaced.length >= LIMITS.queryTokensPerNamespace) {
      throw new AppError('quota_exceeded', 'Query token limit of the namespace reached');
    }
    await insertQueryToken(tx, row);
    await audit(tx, actor, now, 'query_token.minted', audited.queryToken(row, namespace));
    const { digest, expires_at: expiresAt } = row;
    const minted = { type: 'token.minted', namespace, digest, expiresAt } as const;
    await appendChanges(tx, [{ ...minted, owner: actor.customerId, cause: 'direct' }], now);
    return { ...tokenResource(row, await makersFor(tx, held, [row.created_by])), token };
  });
}

/** @throws AppError 422 for a member who is no owner */
function requireDays({ role }: Actor, days: number): void {
  if (role === 'member' && days > LIMITS.queryTokenDaysOfMember) throw invalid(TOO_LONG_FOR_MEMBER);
}

/** A token of a session ends with it at the latest. The unit holds its session, so that a sign-out finds the token. @throws AppError 401 */
async function boundToSession(tx: Tx, row: QueryTokenRow, now: number): Promise<QueryTokenRow> {
  if (row.session_id === null) return row;
  const end = await holdSession(tx, row.session_id, now);
  if (end === null) throw unauthenticated('Credentials are not valid');
  return { ...row, expires_at: end };
}

/** Oldest first, with ended tokens. @throws AppError 404 or 403 */
export async function listOwnQueryTokens(deps: HasStore, actor: Actor, namespaceId: string) {
  await authorizeNamespace(deps, actor, namespaceId);
  const rows = await listQueryTokens(deps.store.read, namespaceId);
  const makerOf = await makersFor(
    deps.store.read,
    actor,
    rows.map((row) => row.created_by),
  );
  return rows.map((row) => tokenResource(row, makerOf));
}

/**
 * Live tokens of every namespace that the credential reaches, those that end soonest first. Tokens of sessions are left out.
 * @throws AppError 400 for the parameters
 */
export async function listEndingQueryTokens(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  query: QueryParameters,
): Promise<EndingTokenResource[]> {
  const { expiring_before: text, limit } = readParameters(query, Object.keys(ENDING_PARAMETERS));
  const before = text === undefined ? Number.MAX_SAFE_INTEGER : parseTime(text);
  if (before === null) throw badParameter('expiring_before', NOT_A_TIME);
  const filter = {
    customerId: actor.customerId,
    now: clock(),
    before,
    limit: readLimit(limit, ENDING_DEFAULT, LIMITS.pageMax),
  };
  const names = actor.namespaces === null ? null : [...actor.namespaces];
  const rows: readonly EndingToken[] = await listEndingTokens(store.read, filter, names);
  const makerOf = await makersFor(
    store.read,
    actor,
    rows.map((row) => row.created_by),
  );
  return rows.map((row) => ({ ...tokenResource(row, makerOf), namespace: row.namespace }));
}

/** A revoked token stays revoked. @throws AppError 404 or 403 */
export async function revokeOwnQueryToken(
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  namespaceId: string,
  tokenId: string,
): Promise<void> {
  const { name: namespace } = await authorizeNamespace(deps, actor, namespaceId);
  const now = deps.clock();
  await deps.unit(actor, (tx) => revokeIn(tx, actor, tokenId, { id: namespaceId, name: namespace }, now));
}

/** @throws AppError 404 */
async function revokeIn(
  tx: Tx,
  actor: Actor,
  tokenId: string,
  { id, name: namespace }: { readonly id: string; readonly name: string },
  now: number,
): Promise<void> {
  const revoked = await revokeQueryToken(tx, tokenId, id, now);
  if (revoked === null) throw notFound('Query token');
  if (!revoked.changed) return;
  await audit(tx, actor, now, 'query_token.revoked', audited.queryToken(revoked, namespace));
  const change = { type: 'token.revoked', namespace, digest: revoked.digest } as const;
  await appendChanges(tx, [{ ...change, owner: actor.customerId, cause: 'direct' }], now);
}
