import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { LIMITS } from '../../../core/limits.ts';
import { createConcurrency } from '../../limits/concurrency.ts';
import { writeBulk } from '../../records/bulk.ts';
import { pageRecords, parseListing, streamRecords } from '../../records/list.ts';
import { type RecordResource, recordTag } from '../../records/record.ts';
import { createRecord, deleteRecord, getRecord, patchRecord } from '../../records/records.ts';
import { created, nextLink } from '../answers/links.ts';
import { jsonArrayStream } from '../answers/stream.ts';
import type { ApiDeps } from '../deps.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, jsonBody, pathId } from '../requests/input.ts';
import { ifMatch, isNotModified, onlyIfNew } from '../requests/preconditions.ts';

export function recordRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const listings = createConcurrency({ perKey: LIMITS.listingsPerCustomer, total: LIMITS.listings });
  app.get('/records', async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { filter, page } = parseListing(query);
    if (page !== null) {
      const { records, next } = await pageRecords(deps, actorOf(request), filter, page);
      if (next !== null)
        reply.header('link', nextLink(deps, request, { ...query, limit: String(page.limit), cursor: next }));
      return records;
    }
    reply.type('application/json; charset=utf-8');
    // A HEAD has no body to read everything for.
    if (request.method === 'HEAD') return reply.send();
    const actor = actorOf(request);
    const leave = listings.enter(actor.customerId);
    if (leave === null) throw tooManyListings();
    const options = { idleMs: LIMITS.listingIdleMs, timers: deps.timers, onEnd: leave };
    return reply.send(jsonArrayStream(streamRecords(deps, actor, filter), reply.raw, options));
  });
  app.get('/records/:id', async (request, reply) => {
    const record = await getRecord(deps, actorOf(request), recordId(request));
    tagged(reply, record);
    return isNotModified(request, tagOf(record)) ? reply.code(304).send() : record;
  });
  app.post('/records', async (request, reply) => {
    const options = { onlyIfNew: onlyIfNew(request) };
    const record = await runOnce(deps, request, (own) =>
      createRecord(own, actorOf(request), envelope(request, 'record'), options),
    );
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

/** A listing that nobody reads has ended after `listingIdleMs`. */
function tooManyListings(): AppError {
  const retryAfter = LIMITS.listingIdleMs / 1000;
  return new AppError('rate_limit_exceeded', 'Too many listings are being read', { retryAfter });
}

type Tagged = Pick<RecordResource, 'updated_at'>;

/** The entity tag of a record as it is shown: a strong one, of which the state is the time of the last change. */
function tagOf({ updated_at }: Tagged): string {
  return recordTag(Date.parse(updated_at));
}

function tagged(reply: FastifyReply, record: Tagged): FastifyReply {
  return reply.header('etag', tagOf(record));
}

function recordId(request: Parameters<typeof pathId>[0]): string {
  return pathId(request, 'id', 'Record');
}
