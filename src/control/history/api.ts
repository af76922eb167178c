import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../base/errors.ts';
import { actorOf } from '../../http/guard.ts';
import { DELETED, describeRoutes } from '../../http/openapi/operation.ts';
import { ifMatch, jsonBody } from '../../http/request.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import type { ApiDeps } from '../api-deps.ts';
import { namespaceId } from '../namespaces/api.ts';
import { recordId, tagged } from '../records/api.ts';
import { SHOWN_RECORD_SCHEMA } from '../records/shapes.ts';
import { runOnce, unitOf } from '../unit.ts';
import {
  eraseKeyVersions,
  eraseRecordVersions,
  getVersion,
  KEY_PARAMETER,
  listKeyVersions,
  listRecordVersions,
  restoreDeleted,
  restoreRecord,
  shownAfter,
  VERSION_PARAMETERS,
} from './rules.ts';
import { RESTORE, RESTORE_KEY, UNDO, UNDO_SCHEMA, VERSION_PAGE_SCHEMA, VERSION_SCHEMA } from './shapes.ts';
import { undoWrite } from './undo.ts';

const NO_HISTORY = 'Where the namespace keeps no history it is 422 `this namespace keeps no history`.';
const PAGE = { 200: { description: 'Newest first', schema: VERSION_PAGE_SCHEMA } } as const;
const RESTORED = {
  description: 'The record. Without `data` for an API key that lacks `read`',
  schema: SHOWN_RECORD_SCHEMA,
} as const;

const ROUTES = describeRoutes('Records', 'credential', {
  list: {
    operationId: 'listRecordVersions',
    summary: 'Lists the versions of a record',
    description: `Newest first, beginning with the present value; without data. ${NO_HISTORY}`,
    query: VERSION_PARAMETERS,
    responses: PAGE,
    errors: [422],
  },
  get: {
    operationId: 'getRecordVersion',
    summary: 'Reads a version of a record',
    description: `With its data. One that is past its \`expires_at\` is 422 \`version has expired\`. ${NO_HISTORY}`,
    query: {},
    responses: { 200: { description: 'The version', schema: VERSION_SCHEMA } },
    errors: [422],
  },
  restore: {
    operationId: 'restoreRecord',
    summary: 'Restores a version of a record',
    description: `A new write: with a version, an ETag and an event of its own. ${NO_HISTORY}`,
    headers: ['Idempotency-Key', 'If-Match'],
    request: RESTORE.schema,
    responses: { 200: { ...RESTORED, headers: ['ETag', 'X-Service-Seq'] } },
    errors: [412],
  },
  erase: {
    operationId: 'eraseRecordVersions',
    summary: 'Erases the versions of a record',
    description: `Its present value stays. They are out of the database within ten seconds. ${NO_HISTORY}`,
    query: {},
    responses: DELETED,
    errors: [422],
  },
  listKey: {
    operationId: 'listKeyVersions',
    summary: 'Lists the versions of a key',
    description: `Also of one without a record. A key that never had one has none. ${NO_HISTORY}`,
    tag: 'Namespaces',
    query: { ...KEY_PARAMETER, ...VERSION_PARAMETERS },
    responses: PAGE,
    errors: [422],
  },
  restoreKey: {
    operationId: 'restoreDeletedRecord',
    summary: 'Makes a deleted record again',
    description: `From a version of its key. ${NO_HISTORY}`,
    tag: 'Namespaces',
    headers: ['Idempotency-Key'],
    request: RESTORE_KEY.schema,
    responses: { 201: { ...RESTORED, headers: ['Location', 'ETag', 'X-Service-Seq'] } },
  },
  undo: {
    operationId: 'undoWrite',
    summary: 'Undoes a write',
    description: `Every record of the write in this namespace gets the value from before it, is made again, or is deleted: in one new write, all of it or nothing. A record that changed after the write is 412 with its key, a write of which the history lacks anything 404. ${NO_HISTORY}`,
    tag: 'Namespaces',
    headers: ['Idempotency-Key'],
    request: UNDO.schema,
    responses: { 200: { description: 'What was done', schema: UNDO_SCHEMA, headers: ['X-Service-Seq'] } },
    errors: [412],
  },
  eraseKey: {
    operationId: 'eraseKeyVersions',
    summary: 'Erases the versions of a key',
    description: `Also of one without a record. ${NO_HISTORY}`,
    tag: 'Namespaces',
    query: KEY_PARAMETER,
    responses: DELETED,
    errors: [422],
  },
});

export function historyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const withUnit = (reply: FastifyReply) => ({
    ...deps,
    unit: unitOf(deps, reply),
  });
  app.get('/records/:id/versions', ROUTES.list, (request) =>
    listRecordVersions(deps, actorOf(request), recordId(request), request.query as QueryParameters),
  );
  app.get('/records/:id/versions/:version', ROUTES.get, (request, reply) =>
    getVersion(withUnit(reply), actorOf(request), recordId(request), versionNumber(request)),
  );
  app.post('/records/:id/restore', ROUTES.restore, async (request, reply) => {
    const actor = actorOf(request);
    const condition = ifMatch(request);
    const restored = await runOnce(deps, request, reply, (unit) =>
      restoreRecord({ ...deps, unit }, actor, recordId(request), jsonBody(request), condition),
    );
    return tagged(reply, restored).send(await shownAfter(deps, actor, restored));
  });
  app.delete('/records/:id/versions', ROUTES.erase, async (request, reply) => {
    await eraseRecordVersions(withUnit(reply), actorOf(request), recordId(request));
  });
  app.get('/namespaces/:id/versions', ROUTES.listKey, (request) =>
    listKeyVersions(deps, actorOf(request), namespaceId(request), request.query as QueryParameters),
  );
  app.post('/namespaces/:id/restore', ROUTES.restoreKey, async (request, reply) => {
    const actor = actorOf(request);
    const restored = await runOnce(deps, request, reply, (unit) =>
      restoreDeleted({ ...deps, unit }, actor, namespaceId(request), jsonBody(request)),
    );
    tagged(reply, restored).header('location', `${deps.publicUrl()}/api/v1/records/${restored.id}`);
    return reply.code(201).send(await shownAfter(deps, actor, restored));
  });
  app.post('/namespaces/:id/undo', ROUTES.undo, (request, reply) =>
    runOnce(deps, request, reply, (unit) =>
      undoWrite({ ...deps, unit }, actorOf(request), namespaceId(request), jsonBody(request)),
    ),
  );
  app.delete('/namespaces/:id/versions', ROUTES.eraseKey, async (request, reply) => {
    await eraseKeyVersions(
      withUnit(reply),
      actorOf(request),
      namespaceId(request),
      request.query as QueryParameters,
    );
  });
}

const NUMBER = /^[1-9][0-9]{0,14}$/;

function versionNumber(request: FastifyRequest): number {
  const { version = '' } = request.params as Readonly<Record<string, string>>;
  if (!NUMBER.test(version)) throw notFound('Version');
  return Number(version);
}
