import type { FastifyInstance } from 'fastify';
import { createTurns } from '../../base/lifecycle/turns.ts';
import { LIMITS } from '../../base/limits.ts';
import { actorOf } from '../../http/guard.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, resourceSchema, type Schema } from '../../protocol/input/schema.ts';
import { changesAfter } from '../../store/log/own-changes.ts';
import type { Store } from '../../store/store.ts';
import type { ApiDeps } from '../api-deps.ts';
import { type LiveReader, type LiveSource, openLiveReader } from '../live/reader.ts';
import { streamRoute } from '../live/streams.ts';
import { type HasWaits, tooManyReaders } from '../live/waits.ts';
import type { Position } from '../unit.ts';
import { type ChangesPage, nextRows, type Page, pageResource, readChanges } from './pages.ts';
import {
  CHANGE_SCHEMA,
  CHANGE_STREAM_PARAMETERS,
  type ChangeResource,
  type FeedRow,
  type Lost,
  lostError,
  PAGE_PARAMETERS,
  readPageQuery,
  readStreamQuery,
  rowOfOwn,
} from './rows.ts';
import { changeSender } from './sender.ts';

const PAGE_SCHEMA = resourceSchema<ChangesPage>('ChangesPage', {
  changes: arrayOf(CHANGE_SCHEMA),
  next: { type: 'string', description: 'The place after this page, for `since`', examples: ['Qk1xb3BhcXVl'] },
  has_more: { type: 'boolean', description: 'Whether to ask again at once', examples: [false] },
});

const CURSOR_TEXT = {
  type: 'string',
  description: 'The place after the event, for `since` and `Last-Event-ID`',
  examples: ['AW9wYXF1ZQ'],
} as const;

interface ChangeStreamEvent {
  readonly id: string;
  /** JSON. */
  readonly data: string;
}

interface ChangeStreamSign extends ChangeStreamEvent {
  readonly event: string;
}

function dataOf(contentSchema: Schema) {
  return { type: 'string' as const, contentMediaType: 'application/json', contentSchema };
}

const EXAMPLE: ChangeResource = {
  cursor: 'AW9wYXF1ZQ',
  event: 'record.upserted',
  at: '2026-01-01T00:00:00.000Z',
  namespace: 'shop',
  key: 'dark-mode.flags.shop.v1',
  etag: '"mk3f0"',
};

/** The text of the stream, and in `contentSchema` the fields of its events: `id`, `event` and `data`. */
const STREAM_SCHEMA: Schema = {
  type: 'string',
  contentMediaType: 'text/event-stream',
  contentSchema: arrayOf({
    anyOf: [
      resourceSchema<ChangeStreamEvent>('ChangeStreamEvent', {
        id: CURSOR_TEXT,
        data: dataOf(CHANGE_SCHEMA),
      }),
      resourceSchema<ChangeStreamSign>('ChangeStreamCheckpoint', {
        id: CURSOR_TEXT,
        event: { type: 'string', const: 'checkpoint' },
        data: dataOf({ type: 'object', maxProperties: 0 }),
      }),
      resourceSchema<ChangeStreamSign>('ChangeStreamReset', {
        id: CURSOR_TEXT,
        event: { type: 'string', const: 'reset' },
        data: dataOf(
          resourceSchema<{ readonly reason: Lost; readonly cursor: string }>('ChangeStreamLost', {
            reason: { type: 'string', enum: ['too_old', 'other_store'] },
            cursor: { type: 'string', description: 'From which the stream goes on' },
          }),
        ),
      }),
    ],
  }),
  examples: [
    `id: ${EXAMPLE.cursor}\ndata: ${JSON.stringify(EXAMPLE)}\n\nevent: checkpoint\nid: Qk1xb3BhcXVl\ndata: {}\n\n`,
  ],
};

const ROUTES = describeRoutes('Changes', 'credential', {
  list: {
    operationId: 'listChanges',
    summary: 'Lists changes of records and namespaces, in commit order',
    description: `Every change that the credential reaches, without gap, of the last seven days; never a payload. Ask again with \`next\` as \`since\`. With \`wait\` the answer comes at the first change. A person may have ${LIMITS.changeWaitsPerCustomer} requests waiting; another is 429. A page looks through ${LIMITS.changesExamined} changes at most, and may be empty while \`has_more\` is true.`,
    query: PAGE_PARAMETERS,
    responses: { 200: { description: 'A page of changes', schema: PAGE_SCHEMA } },
    errors: [410],
  },
  stream: {
    operationId: 'streamChanges',
    summary: 'Sends changes as they are made, as server-sent events',
    description: `Each event has a cursor as its \`id\`; \`Last-Event-ID\` wins over \`since\`. An event \`checkpoint\` comes every 15 seconds and after changes that are not shown. After \`reset\` changes are missing: read everything again. Nothing is dropped for a slow client; one that reads nothing for ten seconds is cut off. At most ${LIMITS.changeStreamRows} changes a second are sent. A person may have ${LIMITS.changeStreamsPerCustomer} streams open; another is 429. The stream ends with its session or key.`,
    query: CHANGE_STREAM_PARAMETERS,
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

export function changeRoutes(app: FastifyInstance, deps: ApiDeps & HasWaits & HasChangeReader): void {
  const { positions, changeReader: reader } = deps;
  const onError = deps.onError ?? ((): void => {});
  const { changePagesAtOnce: atOnce, changeStreams: waiting } = LIMITS;
  const turns = createTurns({ atOnce, waiting, random: deps.random });

  app.get('/changes', ROUTES.list, async (request, reply) => {
    const actor = actorOf(request);
    const query = readPageQuery(positions, actor, request.query as QueryParameters);
    const read = async (since: Position | null): Promise<Page> => {
      const page = await readChanges(deps, actor, query, { since, limit: query.limit });
      if (typeof page === 'string') throw lostError(page);
      return page;
    };
    let page = await read(query.since);
    if (page.rows.length === 0 && !page.hasMore && query.since !== null) {
      await deps.waits.during(request, reply, query.waitMs, async (signal) => {
        page = await nextRows(reader, actor, query, read, signal, page);
      });
    }
    return pageResource(deps, actor, page);
  });
  app.get(
    '/changes/stream',
    ROUTES.stream,
    streamRoute(app, deps, {
      each: LIMITS.changeStreamsPerCustomer,
      all: LIMITS.changeStreams,
      tooMany: tooManyReaders,
      async accept(request, actor) {
        const lastEventId = request.headers['last-event-id'];
        const query = readStreamQuery(positions, actor, request.query as QueryParameters, lastEventId);
        return (output) => changeSender({ ...deps, reader, turns, onError }, actor, query, output);
      },
      close: () => reader.close(),
    }),
  );
}

/** The changes of all customers, read once for everybody in the process who follows them. */
export interface ChangeReader extends LiveReader<FeedRow> {
  /** Of the log as it was last read: in the log of another epoch a place means another change. Null: it was not read yet. */
  epoch(): string | null;
}

export interface HasChangeReader {
  readonly changeReader: ChangeReader;
}

export function openChangeReader(
  { store, timers }: Pick<ApiDeps, 'store' | 'timers'>,
  onError: (error: unknown) => void,
): ChangeReader {
  let epoch: string | null = null;
  const source = changesOf(store, (found) => {
    epoch = found;
  });
  return { ...openLiveReader(source, onError, timers), epoch: () => epoch };
}

/** Changes of all customers that one statement reads. */
const SPAN = 500;

type OwnedRow = FeedRow & { readonly owner: string };

/** The change log as the live reader follows it. */
function changesOf(store: Store, onEpoch: (epoch: string) => void): LiveSource<OwnedRow> {
  return {
    listen: (wake) => store.changes.onChange(wake),
    async last() {
      const { head, epoch } = await store.changes.bounds();
      onEpoch(epoch);
      return head;
    },
    async read({ customers, after, last }) {
      const found = await changesAfter(store.read, after, SPAN);
      const rows = found.flatMap(({ owner, ...change }) =>
        owner !== null && customers.has(owner) ? [{ ...rowOfOwn(change), owner }] : [],
      );
      const end = found.at(-1)?.seq ?? last;
      return { rows, end: end < last ? end : null };
    },
    customerOf: (row) => row.owner,
  };
}
