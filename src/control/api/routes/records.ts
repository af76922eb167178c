import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Actor } from '../../accounts/actor.ts';
import { type Concurrency, createConcurrency } from '../../limits/concurrency.ts';
import { getNamespace } from '../../namespaces/namespaces.ts';
import { writeBulk } from '../../records/bulk.ts';
import { exportRecords } from '../../records/export.ts';
import { pageRecords, streamRecords } from '../../records/list.ts';
import { parseListing } from '../../records/listing-query.ts';
import { type RecordResource, recordTag, withSentData } from '../../records/record.ts';
import { createRecord, deleteRecord, getRecord, patchRecord } from '../../records/records.ts';
import { created, nextLink } from '../answers/links.ts';
import { oneTickEach } from '../answers/one-tick-each.ts';
import { telling } from '../answers/service-seq.ts';
import { type Batches, jsonArrayStream, jsonLinesStream, LINES_TRAILER } from '../answers/stream.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { RECORD_OPERATIONS } from '../operations/records.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, jsonBody, pathId, refuseParameters } from '../requests/input.ts';
import { ifMatch, isNotModified, onlyIfNew } from '../requests/preconditions.ts';
import { namespaceId } from './namespaces.ts';

export function recordRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const listings = createConcurrency({ perKey: LIMITS.listingsPerCustomer, total: LIMITS.listings });
  const pages = createConcurrency({ perKey: LIMITS.pagesPerCustomer, total: LIMITS.pages });
  const tick = oneTickEach();
  /** A whole listing ends with the credential that began it. A page is one batch, which was read under it. */
  const renewalOf = (request: FastifyRequest) => async () => (await request.renewActor()) !== null;
  app.get('/records', describe(RECORD_OPERATIONS.list), async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { filter, page } = parseListing(query);
    const isHead = request.method === 'HEAD';
    const actor = actorOf(request);
    const send = (
      batches: Batches,
      totalMs: number,
      onEnd: () => void,
      mayGoOn = renewalOf(request),
    ): FastifyReply => {
      const { timers } = deps;
      const options = { idleMs: LIMITS.listingIdleMs, totalMs, timers, tick, mayGoOn, onEnd };
      return reply.send(jsonArrayStream(batches, reply.raw, options));
    };
    reply.type('application/json; charset=utf-8');
    if (page !== null) {
      const leave = enter(pages, actor, reply);
      await tick();
      const { batches, next } = await pageRecords(deps, actor, filter, page);
      if (next !== null)
        reply.header('link', nextLink(deps, request, { ...query, limit: String(page.limit), cursor: next }));
      return isHead ? sendHead(reply) : send(batches, LIMITS.pageMs, leave, async () => true);
    }
    // A HEAD has no body: do not read the listing.
    if (isHead) return sendHead(reply);
    return send(streamRecords(deps, actor, filter), LIMITS.listingMs, enter(listings, actor, reply));
  });
  app.get('/namespaces/:id/export', describe(RECORD_OPERATIONS.export), async (request, reply) => {
    refuseParameters(request);
    const actor = actorOf(request);
    const { name } = await getNamespace(deps, actor, namespaceId(request));
    const isHead = request.method === 'HEAD';
    const onEnd = isHead ? () => {} : enter(listings, actor, reply);
    reply.type('application/x-ndjson').header('content-disposition', `attachment; filename="${name}.jsonl"`);
    if (isHead) return sendHead(reply);
    // Trailers need chunks, which HTTP/1.0 does not have: Node refuses the header there.
    if (request.raw.httpVersion !== '1.0') reply.header('trailer', LINES_TRAILER);
    const { timers } = deps;
    const times = { idleMs: LIMITS.listingIdleMs, totalMs: LIMITS.listingMs };
    const batches = exportRecords(deps, actor, name);
    return reply.send(
      jsonLinesStream(batches, reply.raw, { ...times, timers, tick, mayGoOn: renewalOf(request), onEnd }),
    );
  });
  app.get('/records/:id', describe(RECORD_OPERATIONS.get), async (request, reply) => {
    const record = await getRecord(deps, actorOf(request), recordId(request));
    tagged(reply, record);
    return isNotModified(request, tagOf(record)) ? reply.code(304).send() : record;
  });
  app.post('/records', describe(RECORD_OPERATIONS.create), async (request, reply) => {
    const options = { onlyIfNew: onlyIfNew(request) };
    const body = envelope(request, 'record');
    const stored = await runOnce(telling(deps, request, reply), request, (own) =>
      createRecord(own, actorOf(request), body, options),
    );
    const record = withSentData(actorOf(request), stored, body);
    return created(deps, request, tagged(reply, record), record);
  });
  app.post('/records/bulk', describe(RECORD_OPERATIONS.bulk), (request, reply) =>
    runOnce(telling(deps, request, reply), request, (own) =>
      writeBulk(own, actorOf(request), jsonBody(request)),
    ),
  );
  app.patch('/records/:id', describe(RECORD_OPERATIONS.update), async (request, reply) => {
    const condition = ifMatch(request);
    const body = envelope(request, 'record');
    const own = telling(deps, request, reply);
    const record = await patchRecord(own, actorOf(request), recordId(request), body, condition);
    return tagged(reply, record).send(record);
  });
  app.delete('/records/:id', describe(RECORD_OPERATIONS.delete), async (request, reply) => {
    await deleteRecord(telling(deps, request, reply), actorOf(request), recordId(request), ifMatch(request));
    return reply.code(204).send();
  });
}

/** A HEAD without `Content-Length`, which would have to be that of the GET (RFC 9110 §8.6): its length is not known before it is sent. */
function sendHead(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

/** Counts a listing until its answer is sent or its connection closes, also before the answer. @throws AppError 429 */
function enter(readers: Concurrency, { customerId }: Actor, { raw }: FastifyReply): () => void {
  const leave = readers.enter(customerId);
  if (leave === null) {
    const retryAfter = LIMITS.listingIdleMs / 1000;
    throw new AppError('rate_limit_exceeded', 'Too many listings are being read', { retryAfter });
  }
  raw.once('finish', leave);
  raw.once('close', leave);
  return leave;
}

type Tagged = Pick<RecordResource, 'updated_at'>;

/** A strong tag, made of the time of the last change. */
function tagOf({ updated_at }: Tagged): string {
  return recordTag(Date.parse(updated_at));
}

function tagged(reply: FastifyReply, record: Tagged): FastifyReply {
  return reply.header('etag', tagOf(record));
}

function recordId(request: Parameters<typeof pathId>[0]): string {
  return pathId(request, 'id', 'Record');
}
