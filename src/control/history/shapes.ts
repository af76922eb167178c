import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/time.ts';
import { arrayOf, resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { integerOf, required, shape, textOf } from '../../protocol/input/shape.ts';
import { RECORD_KEY_SCHEMA } from '../../protocol/names/record-key.ts';
import { base64 } from '../../store/log/change-log.ts';
import type { RecordsTable } from '../../store/records.ts';
import type { KeptVersion } from '../../store/versions.ts';
import { encodingOf, PLAIN } from '../records/shapes.ts';

export interface VersionResource {
  readonly version: number;
  readonly valid_from: string;
  readonly valid_to: string | null;
  readonly cause: 'write' | 'delete' | null;
  readonly content_type: string;
  readonly encoding?: 'plain';
  readonly ttl_seconds: number;
  readonly expires_at: string | null;
  readonly bytes: number;
  readonly expired?: true;
  readonly data?: string;
}

export interface VersionPage {
  readonly versions: readonly VersionResource[];
  readonly meta: {
    readonly limit: number;
    readonly next_cursor: string | null;
    readonly has_more: boolean;
  };
}

const NUMBER = { type: 'integer', minimum: 1, examples: [3] } as const;

const VERSION = {
  version: { ...NUMBER, description: 'Grows with each write of the record; of a key over its deletions' },
  valid_from: TIME,
  valid_to: {
    ...TIME_OR_NULL,
    description: 'When the next value began, or the deletion. null: the present value',
  },
  cause: {
    type: ['string', 'null'],
    enum: ['write', 'delete', null],
    description: 'What ended it. null: the present value',
  },
  content_type: { type: 'string', examples: ['text/plain'] },
  encoding: PLAIN,
  ttl_seconds: { type: 'integer', examples: [300] },
  expires_at: { ...TIME_OR_NULL, description: 'When its data are erased, whatever the history keeps' },
  bytes: { type: 'integer', minimum: 0, examples: [5] },
  expired: { const: true, description: 'Only where its data are past `expires_at`' },
  data: { type: 'string', contentEncoding: 'base64', description: 'Not in lists', examples: ['aGVsbG8='] },
} as const;

export const VERSION_SCHEMA = resourceSchema<VersionResource>('Version', VERSION, {
  data: true,
  encoding: true,
  expired: true,
});

export const VERSION_PAGE_SCHEMA = resourceSchema<VersionPage>('VersionPage', {
  versions: arrayOf(VERSION_SCHEMA),
  meta: resourceSchema<VersionPage['meta']>('VersionPageMeta', {
    limit: { type: 'integer', examples: [50] },
    next_cursor: { type: ['string', 'null'], description: 'null on the last page', examples: [null] },
    has_more: { type: 'boolean', examples: [false] },
  }),
});

export function currentVersion(row: RecordsTable): VersionResource {
  return {
    version: row.revision,
    valid_from: formatTime(row.updated_at),
    valid_to: null,
    cause: null,
    content_type: row.content_type,
    ...encodingOf(row),
    ttl_seconds: row.ttl_seconds,
    expires_at: formatTimeOrNull(row.expires_at),
    bytes: row.data.length,
  };
}

export function keptVersion(row: KeptVersion, now: number): VersionResource {
  return {
    version: row.version,
    valid_from: formatTime(row.valid_from),
    valid_to: formatTime(row.valid_to),
    cause: row.cause === 'delete' ? 'delete' : 'write',
    content_type: row.content_type,
    ...encodingOf(row),
    ttl_seconds: row.ttl_seconds,
    expires_at: formatTimeOrNull(row.expires_at),
    bytes: row.octets,
    ...(row.expires_at !== null && row.expires_at <= now && { expired: true as const }),
  };
}

export function withData(version: VersionResource, data: Uint8Array): VersionResource {
  return { ...version, data: base64(data) ?? '' };
}

const VERSION_NUMBER = integerOf(1, Number.MAX_SAFE_INTEGER, {
  description: 'Number of a version',
  examples: [3],
});

export const RESTORE = shape('Restore', { version: required(VERSION_NUMBER) });

export const RESTORE_KEY = shape('RestoreKey', {
  key: required(textOf({ ...RECORD_KEY_SCHEMA, maxLength: LIMITS.queryName })),
  version: required(VERSION_NUMBER),
});

export const UNDO = shape('Undo', {
  write: required(
    textOf({ description: 'Value of `X-Service-Seq` in the answer to the write', examples: ['AW9wYXF1ZQ'] }),
  ),
});

interface UndoneRecord {
  readonly id: string;
  readonly key: string;
}

export interface UndoResource {
  readonly restored: readonly UndoneRecord[];
  readonly deleted: readonly UndoneRecord[];
}

const UNDONE = resourceSchema<UndoneRecord>('UndoneRecord', {
  id: UUID,
  key: { type: 'string', examples: ['greeting.acme.v1'] },
});

export const UNDO_SCHEMA = resourceSchema<UndoResource>('UndoResult', {
  restored: arrayOf(UNDONE, { description: 'They have the value from before the write again' }),
  deleted: arrayOf(UNDONE, { description: 'The write had made them' }),
});
