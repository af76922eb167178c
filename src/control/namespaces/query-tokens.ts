import { AppError, invalid, notFound } from '../../core/errors.ts';
import { Faults, Fields, type JsonObject } from '../../core/input/fields.ts';
import { LIMITS } from '../../core/limits.ts';
import { QUERY_TOKEN_BYTES, queryTokenDigest, spellQueryToken } from '../../core/query/query-token.ts';
import { formatTime, formatTimeOrNull } from '../../core/text/time.ts';
import type { Actor } from '../accounts/actor.ts';
import type { HasClock, HasIds, HasRandom, HasStore } from '../accounts/deps.ts';
import { appendChanges } from '../store/log/change-log.ts';
import { lockNamespace } from '../store/tables/namespaces.ts';
import {
  forgetEndedTokens,
  insertQueryToken,
  listQueryTokens,
  liveQueryTokens,
  type QueryTokenRow,
  revokeQueryToken,
} from '../store/tables/query-tokens.ts';
import { authorizeNamespace, requireNotSuspended } from './namespaces.ts';

const DAY = 86_400_000;

/** Milliseconds that ended tokens stay in the list. A later mint deletes them. */
const ENDED_KEPT = 30 * DAY;

/** Without the plaintext. */
export interface QueryTokenResource {
  readonly id: string;
  readonly name: string;
  readonly namespace_id: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
  readonly created_at: string;
}

/** The only response with the plaintext. */
export interface MintedToken extends QueryTokenResource {
  readonly token: string;
}

function tokenResource(row: QueryTokenRow): QueryTokenResource {
  return {
    id: row.id,
    name: row.name,
    namespace_id: row.namespace_id,
    expires_at: formatTime(row.expires_at),
    revoked_at: formatTimeOrNull(row.revoked_at),
    created_at: formatTime(row.created_at),
  };
}

/** @throws AppError 404, 403 (also while suspended), 422 for faults in the body or too many live tokens */
export async function mintQueryToken(
  deps: HasStore & HasClock & HasRandom & HasIds,
  actor: Actor,
  namespaceId: string,
  body: JsonObject,
): Promise<MintedToken> {
  const { name: namespace } = await authorizeNamespace(deps, actor, namespaceId);
  const { name, days } = parseMint(body);
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
  };
  return deps.store.write(async (tx) => {
    const held = await lockNamespace(tx, namespaceId, actor.customerId);
    if (held === null) throw notFound('Namespace');
    requireNotSuspended(held);
    await forgetEndedTokens(tx, namespaceId, now - ENDED_KEPT);
    if ((await liveQueryTokens(tx, namespaceId, now)).length >= LIMITS.queryTokensPerNamespace) {
      throw new AppError('quota_exceeded', 'Query token limit of the namespace reached');
    }
    await insertQueryToken(tx, row);
    const { digest, expires_at: expiresAt } = row;
    const minted = { type: 'token.minted', namespace, digest, expiresAt } as const;
    await appendChanges(tx, [{ ...minted, owner: actor.customerId, cause: 'direct' }], now);
    return { ...tokenResource(row), token };
  });
}

/** The body has no envelope. */
function parseMint(body: JsonObject): { readonly name: string; readonly days: number } {
  const faults = new Faults();
  const fields = new Fields(body, ['name', 'expires_in_days'], faults);
  const name = fields.requiredName('name', LIMITS.queryTokenName);
  const days = fields.integer('expires_in_days', 1, LIMITS.queryTokenDaysMax);
  if (faults.any || name === undefined) throw invalid(...faults.messages);
  return { name, days: days ?? LIMITS.queryTokenDaysDefault };
}

/** Oldest first, with ended tokens. @throws AppError 404 or 403 */
export async function listOwnQueryTokens(
  deps: HasStore,
  actor: Actor,
  namespaceId: string,
): Promise<QueryTokenResource[]> {
  await authorizeNamespace(deps, actor, namespaceId);
  return (await listQueryTokens(deps.store.read, namespaceId)).map(tokenResource);
}

/** A revoked token stays revoked. @throws AppError 404 or 403 */
export async function revokeOwnQueryToken(
  deps: HasStore & HasClock,
  actor: Actor,
  namespaceId: string,
  tokenId: string,
): Promise<void> {
  const { name: namespace } = await authorizeNamespace(deps, actor, namespaceId);
  const now = deps.clock();
  await deps.store.write(async (tx) => {
    const revoked = await revokeQueryToken(tx, tokenId, namespaceId, now);
    if (revoked === null) throw notFound('Query token');
    if (!revoked.changed) return;
    const change = { type: 'token.revoked', namespace, digest: revoked.digest } as const;
    await appendChanges(tx, [{ ...change, owner: actor.customerId, cause: 'direct' }], now);
  });
}
