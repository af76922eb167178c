import { AppError, invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { integerOf, nameOf, optional, required, shape } from '../../protocol/input/shape.ts';
import {
  QUERY_TOKEN_BYTES,
  QUERY_TOKEN_FORM,
  queryTokenDigest,
  spellQueryToken,
} from '../../protocol/query/query-token.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import { lockNamespace } from '../../store/namespaces.ts';
import {
  forgetEndedTokens,
  insertQueryToken,
  listQueryTokens,
  liveQueryTokens,
  type QueryTokenRow,
  revokeQueryToken,
} from '../../store/query-tokens.ts';
import { holdActor, MADE_BY, type Maker, makersFor } from '../accounts/membership.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasRandom, HasStore, HasUnit } from '../deps.ts';
import { authorizeNamespace, requireNotSuspended } from './rules.ts';

const DAY = 86_400_000;

/** Milliseconds that ended tokens stay in the list. A later mint deletes them. */
const ENDED_KEPT = 30 * DAY;

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
});

function tokenResource(row: QueryTokenRow, makerOf: (id: string | null) => Maker | null) {
  return {
    id: row.id,
    name: row.name,
    namespace_id: row.namespace_id,
    expires_at: formatTime(row.expires_at),
    revoked_at: formatTimeOrNull(row.revoked_at),
    created_at: formatTime(row.created_at),
    created_by: makerOf(row.created_by),
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
  const { name, expires_in_days: days = LIMITS.queryTokenDaysDefault } = MINT.parse(body, undefined);
  if (actor.role === 'member' && days > LIMITS.queryTokenDaysOfMember) throw invalid(TOO_LONG_FOR_MEMBER);
  const now = deps.clock();
  const token = spellQueryToken(deps.random(QUERY_TOKEN_BYTES));
  const row: QueryTokenRow = {
    id: deps.newId(),
    namespace_id: namespaceId,
    name,
    digest: queryTokenDigest(token),
    expires_at: now + days * DAY,
    revoked_at: null,
    created_at: now,
    created_by: actor.userId,
  };
  return deps.unit(async (tx) => {
    await holdActor(tx, actor);
    const held = await lockNamespace(tx, namespaceId, actor.customerId);
    if (held === null) throw notFound('Namespace');
    requireNotSuspended(held);
    await forgetEndedTokens(tx, namespaceId, now - ENDED_KEPT);
    if ((await liveQueryTokens(tx, namespaceId, now)).length >= LIMITS.queryTokensPerNamespace) {
      throw new AppError('quota_exceeded', 'Query token limit of the namespace reached');
    }
    await insertQueryToken(tx, row);
    await audit(tx, actor, now, 'query_token.minted', audited.queryToken(row, namespace));
    const { digest, expires_at: expiresAt } = row;
    const minted = { type: 'token.minted', namespace, digest, expiresAt } as const;
    await appendChanges(tx, [{ ...minted, owner: actor.customerId, cause: 'direct' }], now);
    return { ...tokenResource(row, await makersFor(tx, actor, [row.created_by])), token };
  });
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

/** A revoked token stays revoked. @throws AppError 404 or 403 */
export async function revokeOwnQueryToken(
  deps: HasStore & HasUnit & HasClock,
  actor: Actor,
  namespaceId: string,
  tokenId: string,
): Promise<void> {
  const { name: namespace } = await authorizeNamespace(deps, actor, namespaceId);
  const now = deps.clock();
  await deps.unit(async (tx) => {
    const revoked = await revokeQueryToken(tx, tokenId, namespaceId, now);
    if (revoked === null) throw notFound('Query token');
    if (!revoked.changed) return;
    await audit(tx, actor, now, 'query_token.revoked', audited.queryToken(revoked, namespace));
    const change = { type: 'token.revoked', namespace, digest: revoked.digest } as const;
    await appendChanges(tx, [{ ...change, owner: actor.customerId, cause: 'direct' }], now);
  });
}
