import { LIMITS } from '../../../core/limits.ts';
import { QUERY_LOG_PAGE_SCHEMA } from '../../query-log/list.ts';
import { LOG_PARAMETERS, STREAM_PARAMETERS } from '../../query-log/listing-query.ts';
import { STREAM_SCHEMA } from '../../query-log/stream-events.ts';
import type { Operation } from '../openapi/operation.ts';

export const QUERY_LOG_OPERATIONS = {
  list: {
    operationId: 'listQueryLogs',
    summary: 'Lists the DNS queries of the last 24 hours, newest first',
    description:
      'Queries over UDP, TCP and DoT for the namespaces that the credential reaches, those that were refused included. Queries over DoH are not recorded. A row has no name, parameters, token or address.',
    tag: 'Query log',
    auth: 'credential',
    query: LOG_PARAMETERS,
    responses: { 200: { description: 'A page of rows', schema: QUERY_LOG_PAGE_SCHEMA, headers: ['Link'] } },
    errors: [400],
  },
  stream: {
    operationId: 'streamQueryLogs',
    summary: 'Sends rows of the query log as they come, as server-sent events',
    description: `The \`id\` of an event is the id of its row, \`data\` the row as JSON. \`Last-Event-ID\` goes on after a row. At most ${LIMITS.queryLogStreamRows} rows a second are sent; an event \`skipped\` has the \`count\` of others, or null where it is not known. A person may have ${LIMITS.queryLogStreamsPerCustomer} streams open; another is 429. When the server has no place left, the oldest stream of a person who has most is closed. The stream ends with its session or key.`,
    tag: 'Query log',
    auth: 'credential',
    query: STREAM_PARAMETERS,
    headers: ['Last-Event-ID'],
    responses: {
      200: {
        description: 'Events, until the client or the server closes the connection',
        contentType: 'text/event-stream',
        schema: STREAM_SCHEMA,
      },
    },
    errors: [400],
  },
} as const satisfies Readonly<Record<string, Operation>>;
