import type { FastifyInstance } from 'fastify';
import { type Document, documentOf, sendDocument } from '../answers/document.ts';
import { longestRecordKey, META_SCHEMA, metaOf } from '../answers/meta.ts';
import type { ApiDeps } from '../deps.ts';
import { type DescribedRoute, openApiDocument } from '../openapi/document.ts';
import { describe, type Operation } from '../openapi/operation.ts';
import { refuseParameters } from '../requests/input.ts';

const SERVICE_OPERATIONS = {
  meta: {
    operationId: 'getMeta',
    summary: 'Zones, endpoints, limits, tiers, events and features of this server',
    tag: 'Service',
    auth: 'none',
    headers: ['If-None-Match'],
    responses: {
      200: {
        description: 'What clients need not hard-code',
        schema: META_SCHEMA,
        headers: ['ETag', 'Cache-Control'],
      },
      304: { description: 'It has one of the tags of `If-None-Match`', headers: ['ETag', 'Cache-Control'] },
    },
  },
  openapi: {
    operationId: 'getOpenApi',
    summary: 'This document',
    tag: 'Service',
    auth: 'none',
    headers: ['If-None-Match'],
    responses: {
      200: {
        description: 'An OpenAPI 3.1 document',
        schema: {
          type: 'object',
          required: ['openapi', 'info', 'paths'],
          examples: [{ openapi: '3.1.0', info: { title: 'uqrp REST API', version: '0.2.0' }, paths: {} }],
        },
        headers: ['ETag', 'Cache-Control'],
      },
      304: { description: 'It has one of the tags of `If-None-Match`', headers: ['ETag', 'Cache-Control'] },
    },
  },
} as const satisfies Readonly<Record<string, Operation>>;

/** Seconds that a client may use the answer without asking again. */
const MAX_AGE = 300;

/** What the API says of itself. @param routes complete once the server is ready */
export function serviceRoutes(app: FastifyInstance, deps: ApiDeps, routes: readonly DescribedRoute[]): void {
  let document: Document | null = null;
  app.get('/openapi.json', describe(SERVICE_OPERATIONS.openapi), async (request, reply) => {
    refuseParameters(request);
    document ??= documentOf(
      openApiDocument(routes, {
        server: `${deps.publicUrl()}/api/v1`,
        version: deps.service.version,
        recordKeyMax: longestRecordKey(deps.service.zones),
      }),
    );
    return sendDocument(request, reply, document, MAX_AGE);
  });

  app.get('/meta', describe(SERVICE_OPERATIONS.meta), async (request, reply) => {
    refuseParameters(request);
    return sendDocument(request, reply, documentOf(metaOf(deps.service, deps.publicUrl())), MAX_AGE);
  });
}
