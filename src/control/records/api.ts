import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import { createPlaces, type SharedPlaces } from '../../base/lifecycle/places.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Clock, TIMESTAMP } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import { created, linkNext, sendHead } from '../../http/answers.ts';
import { actorOf } from '../../http/guard.ts';
import { DELETED_FROM_DNS, describeRoutes } from '../../http/openapi/operation.ts';
import { envelope, ifMatch, isNotModified, jsonBody, onlyIfNew, pathId } from '../../http/request.ts';
import {
  type Batches,
  jsonArrayStream,
  jsonLinesStream,
  LINES_TRAILERS,
  type ListingReader,
  oneTickEach,
  onResponseEnd,
} from '../../http/streams.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import { auditExport, exportAt, parseAt, requireWhole } from '../history/export.ts';
import { namespaceId } from '../namespaces/api.ts';
import { authorizeNamespace } from '../namespaces/rules.ts';
import { runOnce, unitOf } from '../unit.ts';
import { writeBulk } from './bulk.ts';
import { BULK, BULK_RESULT_SCHEMA } from './bulk-shapes.ts';
import { FACETS_SCHEMA, readFacets } from './facets.ts';
import { EXPORTED_RECORD_SCHEMA, exportRecords, pageRecords, streamRecords } from './listing.ts';
import { LISTING_PARAMETERS, parseListing } from './listing-query.ts';
import { createRecord, deleteRecord, getRecord, patchRecord } from './rules.ts';
import {
  NEW_RECORD,
  RECORD_PATCH,
  RECORD_SCHEMA,
  type RecordResource,
  recordTag,
  SHOWN_RECORD_SCHEMA,
  withSentData,
} from './shapes.ts';
import { pageSorted } from './sorted.ts';

const ONE = {
  description: 'The record. Without `data` for an API key that lacks `read`',
  schema: SHOWN_RECORD_SCHEMA,
  headers: ['ETag'],
} as const;

const ROUTES = describeRoutes('Records', 'credential', {
  list: {
    operationId: 'listRecords',
    summary: 'Lists records',
    description: `Ordered by namespace name, then by \`created_at\`, unless \`sort\` or \`q\` is given. Without \`limit\`, \`cursor\`, \`sort\` and \`q\` it is everything, streamed; with one of them it is a page, and \`Link\` with \`rel="next"\` leads to the next one. A person may read ${LIMITS.listingsPerCustomer} listings without \`limit\` and ${LIMITS.pagesPerCustomer} pages of more than ${LIMITS.listingPage} octets at once, in all organizations together; a page that is smaller is never refused for this. When the server has no place left, the one who reads most gives way first. The server closes the connection of a reader that takes nothing for ${LIMITS.listingIdleMs / 1000} s: such an array has no closing bracket.`,
    query: LISTING_PARAMETERS,
    responses: {
      200: {
        description: 'The records that the credential reaches',
        schema: arrayOf(RECORD_SCHEMA),
        headers: ['Link', 'X-Matched-By'],
      },
    },
  },
  facets: {
    operationId: 'getRecordFacets',
    summary: 'Counts records by resource and by namespace',
    description: `What a search can be narrowed to. Up to ${LIMITS.facetRows} records are counted; of more, the counts by resource are estimated from as many, and \`estimated\` is true. A record past its \`expires_at\` counts until it is erased, within ten seconds.`,
    query: { namespace: LISTING_PARAMETERS.namespace },
    responses: { 200: { description: 'The counts, the largest first', schema: FACETS_SCHEMA } },
  },
  export: {
    operationId: 'exportRecords',
    summary: 'Exports the records of a namespace as JSON lines',
    description: `One record a line, in the form that \`uqrp import\` and a bulk write take. It counts as a listing without \`limit\`. The answer is chunked: one that was cut off ends without the last chunk, which HTTP clients report as an error. A whole one has the trailer \`X-Record-Count\` with the number of lines.`,
    tag: 'Namespaces',
    query: {
      at: {
        schema: { type: 'string', pattern: TIMESTAMP.source, examples: ['2026-01-01T00:00:00Z'] },
        description:
          'As the records were then, but those that have expired since; only while the namespace keeps history, and from its begin on',
      },
    },
    responses: {
      200: {
        description: 'JSON lines of `ExportedRecord`',
        schema: EXPORTED_RECORD_SCHEMA,
        contentType: 'application/x-ndjson',
        headers: ['Trailer', 'Content-Disposition'],
      },
    },
    errors: [422],
  },
  get: {
    operationId: 'getRecord',
    summary: 'Reads a record',
    headers: ['If-None-Match'],
    responses: {
      200: { description: 'The record', schema: RECORD_SCHEMA, headers: ['ETag'] },
      304: { description: 'The record has one of the tags of `If-None-Match`', headers: ['ETag'] },
    },
  },
  create: {
    operationId: 'createRecord',
    summary: 'Creates a record',
    description:
      'The namespace must exist and be yours. A key that is taken is 422 `Key has already been taken`, or 412 with `If-None-Match: *`.',
    headers: ['Idempotency-Key', 'If-None-Match'],
    request: enveloped('record', NEW_RECORD.schema),
    responses: { 201: { ...ONE, headers: ['Location', 'ETag', 'X-Service-Seq'] } },
    errors: [412],
  },
  bulk: {
    operationId: 'writeRecords',
    summary: 'Writes and deletes up to 500 records in one unit',
    description:
      'All of them or none, and one write against the limits. A key that exists is replaced as a whole. Faults name their place: `records[3].data is not strict Base64`. With `if_updated_at` an item is a condition too: when one does not hold, nothing is written, and the answer is 412 `records[3] has changed`.',
    headers: ['Idempotency-Key'],
    errors: [412],
    request: BULK.schema,
    bodyLimit: LIMITS.bulkBody,
    responses: {
      200: {
        description: 'Ids in the order of the request',
        schema: BULK_RESULT_SCHEMA,
        headers: ['X-Service-Seq'],
      },
    },
  },
  update: {
    operationId: 'updateRecord',
    summary: 'Changes a record',
    description: 'Only what is given changes. `updated_at` and `ETag` always advance.',
    headers: ['If-Match'],
    request: enveloped('record', RECORD_PATCH.schema),
    responses: { 200: { ...ONE, headers: ['ETag', 'X-Service-Seq'] } },
    errors: [412],
  },
  delete: {
    operationId: 'deleteRecord',
    summary: 'Deletes a record for good',
    description: 'Where its namespace keeps history, its value stays as a version, unless with `erase=true`.',
    query: {
      erase: {
        schema: { type: 'boolean' },
        description: '`true`: also all versions of its key. `false` unless given',
      },
    },
    headers: ['If-Match'],
    responses: DELETED_FROM_DNS,
    errors: [412],
  },
});

export function recordRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const patience = { ms: LIMITS.placePatienceMs, clock: deps.clock };
  const listings = createPlaces({ all: LIMITS.listings, each: LIMITS.listingsPerCustomer, patience });
  const pages = createPlaces({ all: LIMITS.pages, each: LIMITS.pagesPerCustomer, patience });
  const enter = (places: SharedPlaces, request: FastifyRequest, reply: FastifyReply): ListingReader =>
    readerIn(places, actorOf(request), reply, deps.clock);
  const tick = oneTickEach();
  /** A whole listing ends with the credential that began it, also when it acts for another customer. A page is one batch, which was read under it. */
  const renewalOf = (request: FastifyRequest) => async () => (await request.renewActor()) !== null;
  app.get('/records', ROUTES.list, async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { filter, page, ordered } = parseListing(query);
    const isHead = request.method === 'HEAD';
    const actor = actorOf(request);
    const send = (
      batches: Batches,
      totalMs: number,
      reader: ListingReader,
      mayGoOn = renewalOf(request),
    ): FastifyReply => {
      const { timers } = deps;
      const options = { idleMs: LIMITS.listingIdleMs, totalMs, timers, tick, mayGoOn, reader };
      return reply.send(jsonArrayStream(batches, reply.raw, options));
    };
    reply.type('application/json; charset=utf-8');
    const paged = ordered ?? page;
    if (paged !== null) {
      await tick();
      const { batches, next, isSmall, matched } = ordered
        ? await pageSorted(deps, actor, filter, ordered)
        : { ...(await pageRecords(deps, actor, filter, page!)), matched: null };
      linkNext(deps, request, reply, paged.limit, next);
      if (ordered?.q !== undefined) reply.header('x-matched-by', matched ?? 'nothing');
      if (isHead) return sendHead(reply);
      // A small page is an answer like any other, and counts among those that are unsent.
      if (isSmall) return reply.send([...batches].flat());
      return send(batches, LIMITS.pageMs, enter(pages, request, reply), async () => true);
    }
    // A HEAD has no body: do not read the listing.
    if (isHead) return sendHead(reply);
    return send(streamRecords(deps, actor, filter), LIMITS.listingMs, enter(listings, request, reply));
  });
  app.get('/records/facets', ROUTES.facets, async (request) => {
    const { namespace } = readParameters(request.query as QueryParameters, ['namespace']);
    return readFacets(deps, actorOf(request), namespace);
  });
  app.get('/namespaces/:id/export', ROUTES.export, async (request, reply) => {
    const actor = actorOf(request);
    const namespace = await authorizeNamespace(deps, actor, namespaceId(request));
    const { name } = namespace;
    const { at: text } = readParameters(request.query as QueryParameters, ['at']);
    const at = text === undefined ? null : parseAt(text, deps.clock());
    if (at !== null) await requireWhole(deps, namespace, at);
    const isHead = request.method === 'HEAD';
    const reader = isHead ? WITHOUT_PLACE : enter(listings, request, reply);
    if (!isHead) await auditExport(deps, actor, namespace);
    reply.type('application/x-ndjson').header('content-disposition', `attachment; filename="${name}.jsonl"`);
    if (isHead) return sendHead(reply);
    // Trailers need chunks, which HTTP/1.0 does not have: Node refuses the header there.
    if (request.raw.httpVersion !== '1.0') reply.header('trailer', LINES_TRAILERS.records);
    const { timers } = deps;
    const times = { idleMs: LIMITS.listingIdleMs, totalMs: LIMITS.listingMs };
    const batches = at === null ? exportRecords(deps, actor, name) : exportAt(deps, actor, namespace, at);
    return reply.send(
      jsonLinesStream(batches, reply.raw, {
        ...times,
        timers,
        tick,
        mayGoOn: renewalOf(request),
        reader,
        lines: 'records',
      }),
    );
  });
  app.get('/records/:id', ROUTES.get, async (request, reply) => {
    const record = await getRecord(deps, actorOf(request), recordId(request));
    tagged(reply, record);
    return isNotModified(request, tagOf(record)) ? reply.code(304).send() : record;
  });
  app.post('/records', ROUTES.create, async (request, reply) => {
    const options = { onlyIfNew: onlyIfNew(request) };
    const body = envelope(request, 'record');
    const stored = await runOnce(deps, request, reply, (unit) =>
      createRecord({ ...deps, unit }, actorOf(request), body, options),
    );
    const record = withSentData(actorOf(request), stored, body);
    return created(deps, request, tagged(reply, record), record);
  });
  app.post('/records/bulk', ROUTES.bulk, (request, reply) =>
    runOnce(deps, request, reply, (unit) =>
      writeBulk({ ...deps, unit }, actorOf(request), jsonBody(request)),
    ),
  );
  app.patch('/records/:id', ROUTES.update, async (request, reply) => {
    const condition = ifMatch(request);
    const body = envelope(request, 'record');
    const unit = unitOf(deps, reply);
    const record = await patchRecord({ ...deps, unit }, actorOf(request), recordId(request), body, condition);
    return tagged(reply, record).send(record);
  });
  app.delete('/records/:id', ROUTES.delete, async (request, reply) => {
    await deleteRecord({ ...deps, unit: unitOf(deps, reply) }, actorOf(request), recordId(request), {
      condition: ifMatch(request),
      erase: eraseParameter(request),
    });
  });
}

const WITHOUT_PLACE: ListingReader = { taken() {}, waits() {}, leave() {} };

/**
 * Counts a listing for a person, who may have several customers, until its answer is sent or its connection closes, also before the answer.
 * While the server reads for it, it keeps its place; a client that is slow to take what was sent may have to give way.
 * @throws AppError 429
 */
export function readerIn(
  places: SharedPlaces,
  actor: Actor,
  { raw }: FastifyReply,
  clock: Clock,
): ListingReader {
  let takenAt: number | null = null;
  const place = places.enter(actor.personId, { since: () => takenAt, giveWay: () => raw.destroy() });
  if (place === null) {
    const retryAfter = LIMITS.listingIdleMs / 1000;
    throw new AppError('rate_limit_exceeded', 'Too many listings are being read', { retryAfter });
  }
  const leave = (): void => place.leave();
  onResponseEnd(raw, leave);
  return {
    leave,
    taken() {
      takenAt = clock();
    },
    waits() {
      takenAt = null;
    },
  };
}

type Tagged = Pick<RecordResource, 'updated_at'>;

/** A strong tag, made of the time of the last change. */
function tagOf({ updated_at }: Tagged): string {
  return recordTag(Date.parse(updated_at));
}

export function tagged(reply: FastifyReply, record: Tagged): FastifyReply {
  return reply.header('etag', tagOf(record));
}

export function recordId(request: Parameters<typeof pathId>[0]): string {
  return pathId(request, 'id', 'Record');
}

/** @throws AppError 400 for anything but a boolean */
function eraseParameter({ query }: FastifyRequest): boolean {
  const { erase = 'false' } = readParameters(query as QueryParameters, ['erase']);
  if (erase !== 'true' && erase !== 'false') throw badParameter('erase', 'is not true or false');
  return erase === 'true';
}
