import { AppError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import {
  badParameter,
  limitParameter,
  type QueryParameters,
  readLimit,
  readParameters,
} from '../../protocol/input/query-parameters.ts';
import { resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { foldCase, isLabel } from '../../protocol/names/labels.ts';
import type { OwnChange } from '../../store/log/own-changes.ts';
import type { Store } from '../../store/store.ts';
import { readWait, waitParameter } from '../live/waits.ts';
import { recordTag } from '../records/shapes.ts';
import { epochTag, type Position, type Positions } from '../unit.ts';

/** What a customer may hear of a change, before filters. */
export interface FeedRow extends Omit<OwnChange, 'body'> {
  /** Of a record that was written; null where the change does not say. */
  readonly updatedAt: number | null;
}

const EVENTS = [
  'record.upserted',
  'record.deleted',
  'record.expired',
  'namespace.upserted',
  'namespace.closing',
  'namespace.deleted',
] as const;

type ChangeEvent = (typeof EVENTS)[number];

/** By type of the change. A type that is not here is never shown: query tokens and datasets are no events. */
const EVENT_OF: ReadonlyMap<string, ChangeEvent> = new Map(
  EVENTS.filter((event) => event !== 'record.expired').map((event) => [event, event]),
);

export interface ChangeResource {
  readonly cursor: string;
  readonly event: ChangeEvent;
  readonly at: string;
  readonly namespace: string;
  readonly key?: string;
  readonly etag?: string;
}

const CURSOR = { type: 'string', examples: ['AW9wYXF1ZQ'] } as const;

export const CHANGE_SCHEMA = resourceSchema<ChangeResource>(
  'Change',
  {
    cursor: { ...CURSOR, description: 'The place after this change, for `since`' },
    event: { type: 'string', enum: EVENTS, examples: ['record.upserted'] },
    at: TIME,
    namespace: { type: 'string', examples: ['shop'] },
    key: { type: 'string', description: 'Of a record', examples: ['dark-mode.flags.shop.v1'] },
    etag: {
      type: 'string',
      description: 'Of a record that was written: its `ETag` after that write. It may have changed since',
      examples: ['"mk3f0"'],
    },
  },
  { key: true, etag: true },
);

export interface ChangeFilter {
  /** Null: all. */
  readonly namespace: string | null;
  /** Whether records are shown that went with their namespace. */
  readonly cascade: boolean;
}

/** Which changes a request asks for. */
export interface ChangeQuery extends ChangeFilter {
  /** Null: from the present end on. */
  readonly since: Position | null;
}

const FILTER_PARAMETERS = {
  since: {
    schema: CURSOR,
    description:
      'A cursor: `next` of an answer, `cursor` of a change, or `X-Service-Seq` of a write. Without it: from the present end on',
  },
  namespace: { schema: { type: 'string' }, description: 'Only changes of this namespace' },
  cascade: {
    schema: { type: 'boolean', default: false },
    description: 'Whether records are told that were deleted with their namespace',
  },
} as const;

export const CHANGE_STREAM_PARAMETERS = FILTER_PARAMETERS;

export const PAGE_PARAMETERS = {
  ...FILTER_PARAMETERS,
  wait: waitParameter(LIMITS.changesWaitS, 'Seconds to wait for the first change where there is none yet'),
  limit: limitParameter('Changes', LIMITS.changesPage, LIMITS.changesPageMax),
} as const;

interface PageQuery extends ChangeQuery {
  readonly limit: number;
  /** Milliseconds. */
  readonly waitMs: number;
}

/** @throws AppError 400 naming the unknown, repeated or invalid parameter */
export function readPageQuery(positions: Positions, actor: Actor, query: QueryParameters): PageQuery {
  const values = readParameters(query, Object.keys(PAGE_PARAMETERS));
  const { wait, limit } = values;
  return {
    ...changeQuery(positions, actor, values),
    limit: readLimit(limit, LIMITS.changesPage, LIMITS.changesPageMax),
    waitMs: readWait(wait, LIMITS.changesWaitS),
  };
}

/**
 * @param lastEventId wins over `since`
 * @throws AppError 400
 */
export function readStreamQuery(
  positions: Positions,
  actor: Actor,
  query: QueryParameters,
  lastEventId: string | readonly string[] | undefined,
): ChangeQuery {
  const values = readParameters(query, Object.keys(CHANGE_STREAM_PARAMETERS));
  const resumed = lastEventId === undefined || lastEventId === '' ? {} : { since: String(lastEventId) };
  return changeQuery(positions, actor, { ...values, ...resumed });
}

function changeQuery(
  positions: Positions,
  { customerId }: Actor,
  { since, namespace, cascade = 'false' }: Readonly<Record<string, string>>,
): ChangeQuery {
  const name = namespace === undefined ? null : foldCase(namespace);
  if (name !== null && !isLabel(name)) throw badParameter('namespace', 'is not a namespace name');
  if (cascade !== 'true' && cascade !== 'false') throw badParameter('cascade', 'is not true or false');
  const position = since === undefined ? null : positions.read(customerId, since);
  if (since !== undefined && position === null)
    throw badParameter('since', 'is not a cursor of this account');
  return { since: position, namespace: name, cascade: cascade === 'true' };
}

type LogBounds = Awaited<ReturnType<Store['changes']['bounds']>>;

/** Why a feed cannot go on from a place. */
export type Lost = 'too_old' | 'other_store';

/** Whether the log still has everything after the place. @returns null: it has */
export function lostAt({ seq, epoch }: Position, bounds: LogBounds): Lost | null {
  if (epoch !== epochTag(bounds.epoch) || seq > bounds.head) return 'other_store';
  return seq < bounds.oldest - 1 ? 'too_old' : null;
}

export function lostError(lost: Lost): AppError {
  const text = lost === 'too_old' ? 'since is older than the feed keeps' : 'since is of another store';
  return new AppError('not_found', text, { status: 410 });
}

export function rowOfOwn({ body, ...row }: OwnChange): FeedRow {
  if (row.type !== 'record.upserted') return { ...row, updatedAt: null };
  const { updatedAt = row.at } = JSON.parse(body) as { updatedAt?: number };
  return { ...row, updatedAt };
}

/** Whether the reader is told of the change: one of the customer's own. */
export function isToldTo(actor: Actor, { namespace, cascade }: ChangeFilter, row: FeedRow): boolean {
  if (!EVENT_OF.has(row.type)) return false;
  if (row.cause === 'cascade' && row.key !== null && !cascade) return false;
  return (namespace === null || namespace === row.namespace) && reaches(actor, row.namespace);
}

/** @param cursor the place after the change */
export function changeResource(row: FeedRow, cursor: string): ChangeResource {
  const { type, cause, at, namespace, key, updatedAt } = row;
  const event = type === 'record.deleted' && cause === 'expiry' ? 'record.expired' : EVENT_OF.get(type)!;
  return {
    cursor,
    event,
    at: formatTime(at),
    namespace,
    ...(key !== null && { key }),
    ...(updatedAt !== null && { etag: recordTag(updatedAt) }),
  };
}
