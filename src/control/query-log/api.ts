import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createPlaces } from '../../base/lifecycle/places.ts';
import { LIMITS } from '../../base/limits.ts';
import { linkNext } from '../../http/answers.ts';
import { actorOf } from '../../http/guard.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import { eventStream } from '../../http/streams.ts';
import type { ApiDeps } from '../api-deps.ts';
import { pageQueryLog, QUERY_LOG_PAGE_SCHEMA } from './list.ts';
import { LOG_PARAMETERS, parseStreamFilter, STREAM_PARAMETERS } from './listing-query.ts';
import { type LogStreams, openLogStreams, parseLastEventId, tooManyStreams } from './log-streams.ts';
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

/** How long a browser waits before it connects again, milliseconds. The comment lets the answer begin at once. */
const OPENING = 'retry: 3000\n\n';

type Query = Readonly<Record<string, string>>;

export function queryLogRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/query_logs', ROUTES.list, async (request, reply) => {
    const query = request.query as Query;
    const page = await pageQueryLog(deps, actorOf(request), query);
    const { limit, next_cursor: next } = page.meta;
    linkNext(deps, request, reply, limit, next);
    return page;
  });
  app.get('/query_logs/stream', ROUTES.stream, streamRoute(app, deps));
}

function streamRoute(app: FastifyInstance, deps: ApiDeps) {
  const { queryLogStreamsPerCustomer: each, queryLogStreams: all } = LIMITS;
  // A stream without rows is no stalled one: it gives way only to a person with two streams fewer.
  const places = createPlaces({ all, each, patience: { ms: Number.POSITIVE_INFINITY, clock: deps.clock } });
  let opened: LogStreams | null = null;
  const streams = (): LogStreams => {
    opened ??= openLogStreams({ ...deps, onError: deps.onError ?? (() => {}) });
    return opened;
  };
  app.addHook('preClose', async () => opened?.endAll());
  app.addHook('onClose', async () => opened?.close());
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const actor = actorOf(request);
    const filter = parseStreamFilter(request.query as Query);
    const after = parseLastEventId(request.headers['last-event-id']);
    // A proxy such as nginx would collect events before it passes them on.
    reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
    // The client may have gone while its credential was checked: its response tells nobody again.
    if (request.method === 'HEAD' || reply.raw.destroyed) return reply.send();
    const openedAt = deps.clock();
    // The client is told nothing: it opens the stream again after the last row that it has.
    const place = places.enter(actor.personId, { since: () => openedAt, giveWay: () => reply.raw.destroy() });
    if (place === null) throw tooManyStreams();
    let stop = (): void => {};
    const { body, end, ...output } = eventStream(reply.raw, () => {
      place.leave();
      stop();
    });
    output.write(OPENING);
    stop = streams().open({ actor, filter, after, output, end, renew: () => request.renewActor() });
    return reply.send(body);
  };
}
