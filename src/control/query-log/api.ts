import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { linkNext } from '../../http/answers.ts';
import { actorOf } from '../../http/guard.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import type { ApiDeps } from '../api-deps.ts';
import { streamRoute } from '../live/streams.ts';
import { pageQueryLog, QUERY_LOG_PAGE_SCHEMA } from './list.ts';
import { LOG_PARAMETERS, parseStreamFilter, STREAM_PARAMETERS } from './listing-query.ts';
import { type LogSenders, openLogSenders, parseLastEventId, tooManyStreams } from './log-streams.ts';
import {
  COUNT_PARAMETERS,
  COUNTS_SCHEMA,
  type HasCountTurns,
  parseCounts,
  readQueryCounts,
} from './steps.ts';
import { STREAM_SCHEMA } from './stream-events.ts';

const ROUTES = describeRoutes('Query log', 'credential', {
  list: {
    operationId: 'listQueryLogs',
    summary: 'Lists the DNS queries of the last 24 hours, newest first',
    description:
      'Queries over UDP, TCP and DoT for the namespaces that the credential reaches, those that were refused included. Queries over DoH are not recorded. A row has no name, parameters, token or address.',
    query: LOG_PARAMETERS,
    responses: { 200: { description: 'A page of rows', schema: QUERY_LOG_PAGE_SCHEMA, headers: ['Link'] } },
  },
  counts: {
    operationId: 'countQueryLogs',
    summary: 'Counts the DNS queries of a day, a week or 30 days, in steps of time',
    description: `At most ${LIMITS.queryLogPoints} steps, whole in UTC, the last of which is not over, and ${LIMITS.queryLogGroups} groups and the rest. Groups of \`resource\` leave out queries that were refused or failed: what strangers ask is not recorded. A namespace has at most ${LIMITS.queryLogSplits} resources that are counted by themselves, an account ${LIMITS.queryLogResources}; further ones are in the rest.`,
    query: COUNT_PARAMETERS,
    responses: { 200: { description: 'The counts', schema: COUNTS_SCHEMA } },
  },
  stream: {
    operationId: 'streamQueryLogs',
    summary: 'Sends rows of the query log as they come, as server-sent events',
    description: `The \`id\` of an event is the id of its row, \`data\` the row as JSON. \`Last-Event-ID\` goes on after a row. At most ${LIMITS.queryLogStreamRows} rows a second are sent; an event \`skipped\` has the \`count\` of others, or null where it is not known. A person may have ${LIMITS.queryLogStreamsPerCustomer} streams open; another is 429. When the server has no place left, the oldest stream of a person who has most is closed. The stream ends with its session or key.`,
    query: STREAM_PARAMETERS,
    headers: ['Last-Event-ID'],
    responses: {
      200: {
        description: 'Events, until the client or the server closes the connection',
        contentType: 'text/event-stream',
        schema: STREAM_SCHEMA,
      },
    },
  },
});

type Query = Readonly<Record<string, string>>;

export function queryLogRoutes(app: FastifyInstance, deps: ApiDeps & HasCountTurns): void {
  app.get('/query_logs', ROUTES.list, async (request, reply) => {
    const query = request.query as Query;
    const page = await pageQueryLog(deps, actorOf(request), query);
    const { limit, next_cursor: next } = page.meta;
    linkNext(deps, request, reply, limit, next);
    return page;
  });
  app.get('/query_logs/counts', ROUTES.counts, (request) =>
    readQueryCounts(deps, actorOf(request), parseCounts(request.query as Query)),
  );
  app.get('/query_logs/stream', ROUTES.stream, logStreamRoute(app, deps));
}

function logStreamRoute(app: FastifyInstance, deps: ApiDeps) {
  let opened: LogSenders | null = null;
  const senders = (): LogSenders => {
    opened ??= openLogSenders({ ...deps, onError: deps.onError ?? (() => {}) });
    return opened;
  };
  return streamRoute(app, deps, {
    each: LIMITS.queryLogStreamsPerCustomer,
    all: LIMITS.queryLogStreams,
    tooMany: tooManyStreams,
    async accept(request, actor) {
      const filter = parseStreamFilter(request.query as Query);
      const after = parseLastEventId(request.headers['last-event-id']);
      return (output) => senders().sender({ actor, filter, after }, output);
    },
    close: async () => opened?.close(),
  });
}
