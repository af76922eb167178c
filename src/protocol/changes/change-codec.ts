/**
 * The Change protocol between control side and edge side, version 1. A Change travels as a row: searched fields have a column, the rest is
 * JSON (`body`), and the payload is bytes, so that it can be erased alone. The reader checks types, bounds and the form of names, on which
 * a view relies. It checks no product rules: a row may be older than a rule.
 */

import { LIMITS } from '../../base/limits.ts';
import type { Change, ChangeBody, ChangeCause, KeptHistory } from '../change.ts';
import { PUBLIC_NAMESPACE } from '../names/labels.ts';
import {
  boolean,
  causeOf,
  count,
  digest,
  FieldFault,
  id,
  label,
  nothing,
  openTtl,
  recordKey,
  text,
  time,
  timeOrNull,
  ttl,
} from './change-fields.ts';
import { datasetBody, isDatasetChange, isDatasetType, readDatasetChange } from './dataset-changes.ts';

/** A stored or sent Change. Only `decodeChange` verifies the types. */
export interface EncodedChange {
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly owner: string | null;
  readonly cause: ChangeCause;
  readonly type: string;
  readonly namespace: string;
  /** Record changes only. */
  readonly key: string | null;
  /** JSON object: `v`, the version of the protocol, and the fields that have no column. */
  readonly body: string;
  /** Payload of an upserted record; null for other types, and once erased. */
  readonly data: Uint8Array | null;
}

/** In every body. Rows of releases before the codec have none; they count as version 1. */
const VERSION = 1;

/** Unknown version or type, a body that is too long or not JSON, or the name of the wrong field. */
type ChangeFault = 'version' | 'type' | FieldFault['field'];

/** An unreadable or invalid Change. The message has none of its content. */
export class ChangeFormatError extends Error {
  override readonly name = 'ChangeFormatError';
  readonly seq: number;
  readonly reason: ChangeFault;

  constructor(seq: number, reason: ChangeFault) {
    // A row from outside may hold anything there, also an object that is no text.
    const place = typeof seq === 'number' ? seq : -1;
    super(`change ${place} of the log cannot be read: ${reason}`);
    this.seq = place;
    this.reason = reason;
  }
}

type NewChange = { readonly owner: string | null; readonly cause: ChangeCause } & ChangeBody;

/** @throws ChangeFormatError when `decodeChange` would refuse the row: one bad row would stop every view */
export function encodeChange(change: Change): EncodedChange {
  return encodeNewChange(change, change.seq, change.at).row;
}

/** As `encodeChange`, for a change that `decodeChange` made: it is not checked again. */
export function encodeRow(change: Change): EncodedChange {
  return rowOf(change, change.seq, change.at, membersOf(change, change.at));
}

/**
 * Numbers and encodes a change.
 * @param at milliseconds since the epoch
 * @returns the row, and what `decodeChange` makes of it
 * @throws ChangeFormatError as `encodeChange`
 */
export function encodeNewChange(
  made: NewChange,
  seq: number,
  at: number,
): { readonly row: EncodedChange; readonly change: Change } {
  const body = membersOf(made, at);
  const row = rowOf(made, seq, at, body);
  // The members as they are: what was just written need not be parsed.
  return { row, change: checked(row, () => body) };
}

function rowOf(made: NewChange, seq: number, at: number, body: Body): EncodedChange {
  const { owner, cause, type, namespace } = made;
  const { key = null, data = null } = made as { key?: string; data?: string | null };
  return {
    seq,
    at,
    owner,
    cause,
    type,
    namespace,
    key,
    body: JSON.stringify({ v: VERSION, ...body }),
    data: data === null ? null : Buffer.from(data, 'base64'),
  };
}

/** Members of a change that the body does not have. */
const OUTSIDE: ReadonlySet<string> = new Set([
  'seq',
  'at',
  'owner',
  'cause',
  'type',
  'namespace',
  'key',
  'data',
]);

/** The members of the body that is stored. */
function membersOf(made: NewChange, at: number): Body {
  if (isDatasetChange(made)) return datasetBody(made);
  if (made.type === 'record.upserted') {
    const { resource, version, contentType, ttlSeconds, expiresAt, encoding, updatedAt } = made;
    const body = { resource, version, contentType, ttlSeconds, expiresAt };
    const withEncoding = encoding === undefined ? body : { ...body, encoding };
    return updatedAt === undefined || updatedAt === at ? withEncoding : { ...withEncoding, updatedAt };
  }
  return Object.fromEntries(Object.entries(made).filter(([name]) => !OUTSIDE.has(name)));
}

/**
 * Reads a row of this release or an earlier one; unknown members of the body are left out.
 * @throws ChangeFormatError and nothing else, whatever the row holds
 */
export function decodeChange(row: EncodedChange): Change {
  return checked(row, () => bodyOf(row));
}

function checked(row: EncodedChange, body: () => Body): Change {
  try {
    return read(row, body());
  } catch (error) {
    if (error instanceof ChangeFormatError) throw error;
    // Any other error is a fault of this file; it must not pass as a Change either.
    throw new ChangeFormatError(row.seq, error instanceof FieldFault ? error.field : 'body');
  }
}

type Body = Readonly<Record<string, unknown>>;

function bodyOf({ seq, body }: EncodedChange): Body {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser's message quotes the text.
    throw new ChangeFormatError(seq, 'body');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ChangeFormatError(seq, 'body');
  }
  const { v } = value as Body;
  if (v !== undefined && v !== VERSION) throw new ChangeFormatError(seq, 'version');
  return value as Body;
}

function read(row: EncodedChange, body: Body): Change {
  const { type } = row;
  const seq = count('seq', row.seq);
  const at = time('at', row.at);
  const owner = row.owner === null ? null : id('owner', row.owner);
  const cause = causeOf(row.cause);
  if (type === 'record.upserted') return readUpsert(row, body, { seq, at, owner, cause });
  const { namespace } = row;
  nothing('data', row.data);
  if (type === 'record.deleted') {
    const key = recordKey(row.key, [undefined, namespace ?? null]);
    return { seq, at, owner, cause, type, namespace, key };
  }
  nothing('key', row.key);
  if (isDatasetType(type)) {
    nothing('owner', owner);
    if (namespace !== PUBLIC_NAMESPACE) throw new FieldFault('namespace');
    if (Buffer.byteLength(row.body) > LIMITS.datasetChange) throw new FieldFault('body');
    return { seq, at, owner, cause, ...readDatasetChange(type, body) };
  }
  const head = { seq, at, owner, cause, namespace: label('namespace', namespace) };
  switch (type) {
    case 'namespace.upserted':
      return {
        ...head,
        type,
        id: id('id', body.id),
        publicRead: boolean('publicRead', body.publicRead),
        suspended: boolean('suspended', body.suspended),
        ...(body.maxTtl !== undefined && { maxTtl: openTtl('maxTtl', body.maxTtl) }),
        ...(body.history !== undefined && { history: keptHistory(body.history) }),
        recordsCount: count('recordsCount', body.recordsCount),
        createdAt: time('createdAt', body.createdAt),
        updatedAt: time('updatedAt', body.updatedAt),
      };
    case 'namespace.closing':
    case 'namespace.deleted':
      return { ...head, type, id: id('id', body.id) };
    case 'token.minted':
      return {
        ...head,
        type,
        digest: digest('digest', body.digest),
        expiresAt: time('expiresAt', body.expiresAt),
      };
    case 'token.revoked':
      return { ...head, type, digest: digest('digest', body.digest) };
    default:
      throw new ChangeFormatError(row.seq, 'type');
  }
}

function keptHistory(value: unknown): KeptHistory {
  const { versions, days, since } = (value ?? {}) as Body;
  return {
    versions: count('history', versions),
    days: count('history', days),
    since: time('history', since),
  };
}

type Head = Pick<Change, 'seq' | 'at' | 'owner' | 'cause'>;

/** The most frequent type: the key check covers its labels, and the object is made at once. */
function readUpsert(row: EncodedChange, body: Body, { seq, at, owner, cause }: Head): Change {
  const { namespace } = row;
  const key = recordKey(row.key, [body.version ?? null, namespace ?? null, body.resource ?? null]);
  const change: Change & { encoding?: 'plain'; updatedAt?: number } = {
    seq,
    at,
    owner,
    cause,
    type: 'record.upserted',
    key,
    namespace,
    resource: body.resource as string,
    version: body.version as string,
    data: payload(row.data),
    contentType: text('contentType', body.contentType, LIMITS.contentType),
    ttlSeconds: ttl('ttlSeconds', body.ttlSeconds),
    expiresAt: timeOrNull('expiresAt', body.expiresAt),
  };
  // Base64 carries any payload, so an encoding of a later release is left out.
  if (body.encoding === 'plain') change.encoding = 'plain';
  if (body.updatedAt !== undefined) change.updatedAt = time('updatedAt', body.updatedAt);
  return change;
}

/** Base64 of a payload; null once erased. */
function payload(data: unknown): string | null {
  if (data === null) return null;
  if (!(data instanceof Uint8Array) || data.length > LIMITS.recordData) throw new FieldFault('data');
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}
