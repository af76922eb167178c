import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Actor } from '../../accounts/actor.ts';
import { type Concurrency, createConcurrency } from '../../limits/concurrency.ts';
import { writeBulk } from '../../records/bulk.ts';
import { pageRecords, streamRecords } from '../../records/list.ts';
import { parseListing } from '../../records/listing-query.ts';
import { type RecordResource, recordTag, withSentData } from '../../records/record.ts';
import { createRecord, deleteRecord, getRecord, patchRecord } from '../../records/records.ts';
import { created, nextLink } from '../answers/links.ts';
import { oneTickEach } from '../answers/one-tick-each.ts';
import { type Batches, jsonArrayStream } from '../answers/stream.ts';
import type { ApiDeps } from '../deps.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, jsonBody, pathId } from '../requests/input.ts';
import { ifMatch, isNotModified, onlyIfNew } from '../requests/preconditions.ts';

export function recordRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const listings = createConcurrency({ perKey: LIMITS.listingsPerCustomer, total: LIMITS.listings });
  const pages = createConcurrency({ perKey: LIMITS.pagesPerCustomer, total: LIMITS.pages });
  const tick = oneTickEach();
  app.get('/records', async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { filter, page } = parseListing(query);
    const isHead = request.method === 'HEAD';
    const actor = actorOf(request);
    const send = (batches: Batches, totalMs: number, onEnd: () => void): FastifyReply => {
      const { timers } = deps;
      const options = { idleMs: LIMITS.listingIdleMs, totalMs, timers, tick, onEnd };
      return reply.send(jsonArrayStream(batches, reply.raw, options));
    };
    reply.type('application/json; charset=utf-8');
    if (page !== null) {
      const leave = enter(pages, actor, reply);
      await tick();
      const { batches, next } = await pageRecords(deps, actor, filter, page);
      if (next !== null)
        reply.header('link', nextLink(deps, request, { ...query, limit: String(page.limit), cursor: next }));
      return isHead ? reply.send() : send(batches, LIMITS.pageMs, leave);
    }
    // A HEAD has no body: do not read the listing.
    if (isHead) return reply.send();
    return send(streamRecords(deps, actor, filter), LIMITS.listingMs, enter(listings, actor, reply));
  });
  app.get('/records/:id', async (request, reply) => {
    const record = await getRecord(deps, actorOf(request), recordId(request));
    tagged(reply, record);
    return isNotModified(request, tagOf(record)) ? reply.code(304).send() : record;
  });
  app.post('/records', async (request, reply) => {
    const options = { onlyIfNew: onlyIfNew(request) };
    const body = envelope(request, 'record');
    const stored = await runOnce(deps, request, (own) => createRecord(own, actorOf(request), body, options));
    const record = withSentData(actorOf(request), stored, body);
    return created(deps, request, tagged(reply, record), record);
  });
  app.post('/records/bulk', { bodyLimit: LIMITS.bulkBody }, (request) =>
    runOnce(deps, request, (own) => writeBulk(own, actorOf(request), jsonBody(request))),
  );
  app.patch('/records/:id', async (request, reply) => {
    const condition = ifMatch(request);
    const body = envelope(request, 'record');
    const record = await patchRecord(deps, actorOf(request), recordId(request), body, condition);
    return tagged(reply, record).send(record);
  });
  app.delete('/records/:id', async (request, reply) => {
    await deleteRecord(deps, actorOf(request), recordId(request), ifMatch(request));
    return reply.code(204).send();
  });
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
