import { arrayOf, resourceSchema, type Schema } from '../../protocol/input/schema.ts';
import { QUERY_LOG_SCHEMA, type QueryLogResource } from './row.ts';

interface Skipped {
  /** Null: rows are missing, and nobody counted them. */
  readonly count: number | null;
}

interface RowEvent {
  readonly id: string;
  /** The row as JSON. */
  readonly data: string;
}

interface SkippedEvent {
  readonly event: 'skipped';
  readonly data: string;
}

const SKIPPED_SCHEMA = resourceSchema<Skipped>('QueryLogSkipped', {
  count: {
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Rows that were left out; null: more than the stream can count, from before it was opened',
    examples: [12],
  },
});

function dataOf(contentSchema: Schema) {
  return { type: 'string' as const, contentMediaType: 'application/json', contentSchema };
}

export function rowEvent(row: QueryLogResource): string {
  return `id: ${row.id}\ndata: ${JSON.stringify(row)}\n\n`;
}

export function skippedEvent(count: number | null): string {
  const skipped: Skipped = { count };
  return `event: skipped\ndata: ${JSON.stringify(skipped)}\n\n`;
}

const EXAMPLE: QueryLogResource = {
  id: '3607772528640001',
  timestamp: '2026-01-01T00:00:00.000Z',
  namespace: 'acme',
  resource: 'flags',
  version: 'v1',
  operation: 'get',
  qtype: 'TXT',
  status: 'hit',
  rcode: 'NOERROR',
  transport: 'udp',
  node: 'fra1',
  duration_ms: 0,
};

/** The text of the stream, and in `contentSchema` the fields of its events: `id`, `event` and `data`. */
export const STREAM_SCHEMA: Schema = {
  type: 'string',
  contentMediaType: 'text/event-stream',
  contentSchema: arrayOf({
    anyOf: [
      resourceSchema<RowEvent>('QueryLogRowEvent', {
        id: { type: 'string', description: 'Id of the row, for `Last-Event-ID`', examples: [EXAMPLE.id] },
        data: dataOf(QUERY_LOG_SCHEMA),
      }),
      resourceSchema<SkippedEvent>('QueryLogSkippedEvent', {
        event: { type: 'string', const: 'skipped' },
        data: dataOf(SKIPPED_SCHEMA),
      }),
    ],
  }),
  examples: [rowEvent(EXAMPLE) + skippedEvent(12)],
};
