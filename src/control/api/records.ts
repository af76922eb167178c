import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../core/limits.ts';
import { writeBulk } from '../records/bulk.ts';
import { pageRecords, parseListing, streamRecords } from '../records/list.ts';
import type { RecordResource } from '../records/record.ts';
import { createRecord, deleteRecord, getRecord, patchRecord } from '../records/records.ts';
import type { ApiDeps } from './deps.ts';
import { actorOf } from './guard.ts';
import { envelope, jsonBody, pathId } from './input.ts';

export function recordRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/records', async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const { filter, page } = parseListing(query);
    if (page !== null) {
      const { records, next } = await pageRecords(deps, actorOf(request), filter, page);
      if (next !== null) reply.header('link', nextLink(request.url, query, page.limit, next));
      return records;
    }
    reply.type('application/json; charset=utf-8');
    // A HEAD has no body to read everything for.
    if (request.method === 'HEAD') return reply.send();
    return reply.send(Readable.from(jsonArray(streamRecords(deps, actorOf(request), filter))));
  });
  app.get('/records/:id', (request) => getRecord(deps, actorOf(request), recordId(request)));
  app.post('/records', async (request, reply) => {
    const record = await createRecord(deps, actorOf(request), envelope(request, 'record'));
    return reply.code(201).send(record);
  });
  app.post('/records/bulk', { bodyLimit: LIMITS.bulkBody }, (request) =>
    writeBulk(deps, actorOf(request), jsonBody(request)),
  );
  app.patch('/records/:id', (request) =>
    patchRecord(deps, actorOf(request), recordId(request), envelope(request, 'record')),
  );
  app.delete('/records/:id', async (request, reply) => {
    await deleteRecord(deps, actorOf(request), recordId(request));
    return reply.code(204).send();
  });
}

function recordId(request: Parameters<typeof pathId>[0]): string {
  return pathId(request, 'id', 'Record');
}

/** RFC 8288, with a relative reference: the host that a client used is the client's to know. */
export function nextLink(
  url: string,
  query: Readonly<Record<string, string>>,
  limit: number,
  cursor: string,
): string {
  const parameters = new URLSearchParams({ ...query, limit: String(limit), cursor });
  return `<${url.split('?', 1)[0]}?${parameters.toString()}>; rel="next"`;
}

/** The text of one JSON array, batch by batch. */
async function* jsonArray(batches: AsyncIterable<readonly RecordResource[]>): AsyncGenerator<string> {
  let before = '[';
  for await (const batch of batches) {
    yield before + batch.map((record) => JSON.stringify(record)).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
