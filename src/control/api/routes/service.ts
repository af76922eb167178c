import type { FastifyInstance } from 'fastify';
import { type Document, documentOf, sendDocument } from '../answers/document.ts';
import { longestRecordKey, metaOf } from '../answers/meta.ts';
import type { ApiDeps } from '../deps.ts';
import { type DescribedRoute, openApiDocument } from '../openapi/document.ts';
import { describe } from '../openapi/operation.ts';
import { SERVICE_OPERATIONS } from '../operations/service.ts';
import { refuseParameters } from '../requests/input.ts';

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
