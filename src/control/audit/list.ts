/** The audit log as owners read it: parameters, rows and pages. */
import { LIMITS } from '../../base/limits.ts';
import { formatTime, NOT_A_TIME, parseTime } from '../../base/time.ts';
import { requireOwner, type SignedIn } from '../../http/actor.ts';
import {
  AUDIT_ACTIONS,
  AUDIT_ACTORS,
  AUDIT_OBJECTS,
  AUDIT_OUTCOMES,
  type AuditAction,
  type AuditActorKind,
  type AuditObjectKind,
  type AuditOutcome,
} from '../../protocol/audit.ts';
import { isOneLine } from '../../protocol/input/fields.ts';
import {
  badParameter,
  CURSOR_SCHEMA,
  decodeListingCursor,
  encodeListingCursor,
  limitParameter,
  type QueryParameters,
  readLimit,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { arrayOf, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { foldCase, isLabel } from '../../protocol/names/labels.ts';
import { parseRecordKey } from '../../protocol/names/record-key.ts';
import {
  type AuditFilter,
  type AuditPosition,
  type AuditRow,
  DELETED_USER,
  readAuditPage,
} from '../../store/audit.ts';
import { normalizeEmail } from '../accounts/rules.ts';
import type { HasStore } from '../deps.ts';
import { recordTag } from '../records/shapes.ts';
import { epochTag, type Positions } from '../unit.ts';

interface AuditActor {
  readonly kind: AuditActorKind;
  readonly id: string | null;
  /** At that time: the address of a user, the name of an API key. */
  readonly name: string | null;
}

interface AuditedObject {
  readonly kind: AuditObjectKind | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly namespace: string | null;
  readonly count: number | null;
  /** Only of `operator.public_read` and `.suspended`. */
  readonly on?: boolean;
}

export interface AuditResource {
  readonly id: string;
  readonly at: string;
  readonly request_id: string | null;
  readonly actor: AuditActor;
  readonly action: AuditAction;
  readonly outcome: AuditOutcome;
  readonly object: AuditedObject;
  readonly etag_before: string | null;
  readonly etag_after: string | null;
  readonly seq: string | null;
}

interface AuditPage {
  readonly audit: readonly AuditResource[];
  readonly meta: {
    readonly limit: number;
    readonly next_cursor: string | null;
    readonly has_more: boolean;
  };
}

const TEXT_OR_NULL = { type: ['string', 'null'] } as const;
const ID_OR_NULL = { ...TEXT_OR_NULL, examples: ['0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77'] } as const;
const ETAG_OR_NULL = {
  ...TEXT_OR_NULL,
  description: 'Of one record; null elsewhere',
  examples: ['"mk3f0"'],
} as const;

export const AUDIT_SCHEMA = resourceSchema<AuditResource>('AuditRow', {
  id: { type: 'string', examples: ['0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77'] },
  at: TIME,
  request_id: { ...ID_OR_NULL, description: '`X-Request-Id` of the answer; null: no request' },
  actor: resourceSchema<AuditActor>('AuditActor', {
    kind: { type: 'string', enum: AUDIT_ACTORS },
    id: ID_OR_NULL,
    name: {
      ...TEXT_OR_NULL,
      description: 'At that time. `deleted user` once the account is gone',
      examples: ['me@example.com'],
    },
  }),
  action: { type: 'string', enum: AUDIT_ACTIONS },
  outcome: { type: 'string', enum: AUDIT_OUTCOMES, description: '`refused`: the answer was 403' },
  object: resourceSchema<AuditedObject>(
    'AuditObject',
    {
      kind: { ...TEXT_OR_NULL, enum: [...AUDIT_OBJECTS, null] },
      id: ID_OR_NULL,
      name: { ...TEXT_OR_NULL, description: 'Such as the key of a record', examples: ['greeting.acme.v1'] },
      namespace: { ...TEXT_OR_NULL, examples: ['acme'] },
      count: {
        type: ['integer', 'null'],
        description: 'Of several records, or of refusals that have no rows of their own',
        examples: [null],
      },
      on: {
        type: 'boolean',
        description: 'Only of `operator.public_read` and `operator.suspended`: switched on or off',
        examples: [true],
      },
    },
    { on: true },
  ),
  etag_before: ETAG_OR_NULL,
  etag_after: ETAG_OR_NULL,
  seq: {
    ...TEXT_OR_NULL,
    description: 'The place of the write in the feed, for `since` of `GET /changes`',
    examples: ['AW9wYXF1ZQ'],
  },
});

export const AUDIT_PAGE_SCHEMA = resourceSchema<AuditPage>('AuditPage', {
  audit: arrayOf(AUDIT_SCHEMA),
  meta: resourceSchema<AuditPage['meta']>('AuditPageMeta', {
    limit: { type: 'integer', examples: [50] },
    next_cursor: { ...TEXT_OR_NULL, description: 'null on the last page', examples: [null] },
    has_more: { type: 'boolean', examples: [false] },
  }),
});

const PAGE_DEFAULT = 50;

export const AUDIT_FILTERS = {
  since: { schema: TIME, description: 'Only at or after this time' },
  until: { schema: TIME, description: 'Only before this time' },
  actor: {
    schema: { type: 'string', examples: ['me@example.com'] },
    description: 'Only of this actor: a kind, an id, the address of a user or the name of an API key',
  },
  action: {
    schema: { type: 'string', examples: ['record.*'] },
    description: 'Only this action, or all of a group: `record.*`',
  },
  namespace: { schema: { type: 'string' }, description: 'Only in this namespace' },
  key: { schema: { type: 'string' }, description: 'Only of the record with this key' },
} as const;

export const AUDIT_PARAMETERS = {
  ...AUDIT_FILTERS,
  limit: limitParameter('Rows', PAGE_DEFAULT, LIMITS.pageMax),
  cursor: {
    schema: CURSOR_SCHEMA,
    description: 'The page after, from `meta.next_cursor`. Valid with the same filters only',
  },
} as const;

type Values = Readonly<Record<string, string>>;

/** @throws AppError 400 */
export function readAuditFilter(values: Values): AuditFilter {
  const [since, until] = [time(values, 'since'), time(values, 'until')];
  if (since !== null && until !== null && since >= until) throw badParameter('since', 'is not before until');
  const { namespace, key } = values;
  const name = namespace === undefined ? null : foldCase(namespace);
  if (name !== null && !isLabel(name)) throw badParameter('namespace', 'is not a namespace name');
  // Under the shortest zone: a key that was stored fits it.
  const parsed = key === undefined ? null : parseRecordKey(key, 1);
  if (typeof parsed === 'string') throw badParameter('key', parsed.replace(/^key /, ''));
  return {
    since,
    until,
    action: actionPattern(values.action),
    namespace: name,
    key: parsed?.key ?? null,
    ...actorFilter(values.actor),
  };
}

function time(values: Values, name: 'since' | 'until'): number | null {
  const text = values[name];
  if (text === undefined) return null;
  const ms = parseTime(text);
  if (ms === null) throw badParameter(name, NOT_A_TIME);
  return ms;
}

/** For LIKE. No action has a percent sign, and a `_` in it stands for itself. */
function actionPattern(text: string | undefined): string | null {
  if (text === undefined) return null;
  const group = text.endsWith('.*') ? text.slice(0, -1) : null;
  const isKnown = AUDIT_ACTIONS.some((one) => (group === null ? one === text : one.startsWith(group)));
  if (!isKnown) throw badParameter('action', 'is not an action, or a group such as record.*');
  return group === null ? text : `${group}%`;
}

/** Letters of the longest name: that of an API key, in characters of four octets, is shorter than a mail address. */
const ACTOR_MAX = LIMITS.mailAddress;

export const UUID_FORM = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function actorFilter(
  text: string | undefined,
): Pick<AuditFilter, 'actorKind' | 'actorId' | 'actorName' | 'actorEmail'> {
  const none = { actorKind: null, actorId: null, actorName: null, actorEmail: null };
  if (text === undefined) return none;
  if (!isOneLine(text) || text.length > ACTOR_MAX) throw badParameter('actor', 'is not an actor');
  const kind = AUDIT_ACTORS.find((one) => one === text);
  if (kind !== undefined) return { ...none, actorKind: kind };
  if (UUID_FORM.test(text)) return { ...none, actorId: text.toLowerCase() };
  return { ...none, actorName: text, actorEmail: normalizeEmail(text) };
}

export interface AuditDeps extends HasStore {
  /** Null: rows tell no place in the feed. */
  readonly positions: Positions | null;
}

/** Newest first. @throws AppError 400 for the parameters, 403 for a member who is no owner */
export async function pageAudit(
  deps: AuditDeps,
  actor: SignedIn,
  query: QueryParameters,
): Promise<AuditPage> {
  requireOwner(actor);
  const { limit: limitText, cursor, ...filters } = readParameters(query, Object.keys(AUDIT_PARAMETERS));
  const filter = readAuditFilter(filters);
  const limit = readLimit(limitText, PAGE_DEFAULT, LIMITS.pageMax);
  const listing = ['audit', actor.customerId, filter];
  const after = cursor === undefined ? null : decodePosition(cursor, listing);
  if (cursor !== undefined && after === null) throw badParameter('cursor', 'is not a cursor of this listing');
  const page = await readAuditPage(deps.store.read, actor.customerId, {
    filter,
    after,
    limit,
    examined: LIMITS.auditExamined,
  });
  const next = page.next && encodeListingCursor({ a: page.next.at, i: page.next.id }, listing);
  const shown = await auditShower(deps, actor.customerId);
  return { audit: page.rows.map(shown), meta: { limit, next_cursor: next, has_more: next !== null } };
}

/** All rows that pass the filters, newest first, in batches. @throws AppError as `pageAudit` */
export async function exportAudit(
  deps: AuditDeps,
  actor: SignedIn,
  query: QueryParameters,
): Promise<AsyncGenerator<readonly AuditResource[], void, undefined>> {
  requireOwner(actor);
  const filter = readAuditFilter(readParameters(query, Object.keys(AUDIT_FILTERS)));
  return auditBatches(deps, actor.customerId, filter);
}

/** At most a page of rows each, so that an export holds little while its client does not read. */
export async function* auditBatches(
  deps: AuditDeps,
  customerId: string,
  filter: AuditFilter,
): AsyncGenerator<readonly AuditResource[], void, undefined> {
  const shown = await auditShower(deps, customerId);
  let after: AuditPosition | null = null;
  do {
    const options = { filter, after, limit: LIMITS.pageMax, examined: LIMITS.auditExamined };
    const page = await readAuditPage(deps.store.read, customerId, options);
    yield page.rows.map(shown);
    after = page.next;
  } while (after !== null);
}

function decodePosition(text: string, listing: unknown): AuditPosition | null {
  const { a: at, i: id } = decodeListingCursor(text, listing) ?? {};
  return Number.isSafeInteger(at) && typeof id === 'string' ? { at: at as number, id } : null;
}

/** Shows rows of a customer. Places in the feed are those of the present epoch: a restored backup has the log up to its time too. */
export async function auditShower(
  { store, positions }: AuditDeps,
  customerId: string,
): Promise<(row: AuditRow) => AuditResource> {
  const epoch = epochTag((await store.changes.bounds()).epoch);
  return (row) => ({
    id: row.id,
    at: formatTime(row.at),
    request_id: row.request_id,
    actor: {
      kind: row.actor_kind,
      id: row.actor_id,
      // Without an id it is a sign-in that failed: nobody knows who it was.
      name:
        row.actor_kind === 'user' && row.actor_id !== null
          ? (row.actor_name ?? DELETED_USER)
          : row.actor_name,
    },
    action: row.action,
    outcome: row.outcome,
    object: shownObject(row),
    etag_before: row.tag_before === null ? null : recordTag(row.tag_before),
    etag_after: row.tag_after === null ? null : recordTag(row.tag_after),
    seq:
      row.seq === null || positions === null
        ? null
        : positions.text(customerId, { seq: row.seq, at: row.at, epoch }),
  });
}

/** Actions whose rows have 1 or 0 in place of a count, see `audited.namespaceSwitch`. */
const SWITCHES: readonly AuditAction[] = ['operator.public_read', 'operator.suspended'];

function shownObject(row: AuditRow): AuditedObject {
  const { action, object_kind, object_id, object_name, namespace, count } = row;
  const on = SWITCHES.includes(action) && count !== null ? { on: count === 1 } : null;
  return {
    kind: object_kind,
    id: object_id,
    name: object_kind === 'member' && object_id !== null ? (object_name ?? DELETED_USER) : object_name,
    namespace,
    count: on === null ? count : null,
    ...on,
  };
}
