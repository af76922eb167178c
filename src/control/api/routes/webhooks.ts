import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pageDeliveries, redeliver } from '../../webhooks/resource/delivery-history.ts';
import { regenerateSecrets } from '../../webhooks/resource/secrets.ts';
import { sendTest } from '../../webhooks/resource/test-delivery.ts';
import { EVENT_CATALOGUE } from '../../webhooks/resource/webhook-resource.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listAuthorized,
  patchWebhook,
} from '../../webhooks/resource/webhooks.ts';
import { created, nextLink } from '../answers/links.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { WEBHOOK_OPERATIONS } from '../operations/webhooks.ts';
import { actorOf, take } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, pathId, refuseFields, refuseParameters } from '../requests/input.ts';

export function webhookRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/webhooks', describe(WEBHOOK_OPERATIONS.list), async (request) => {
    refuseParameters(request);
    return listAuthorized(deps, actorOf(request));
  });
  app.get('/webhooks/events', describe(WEBHOOK_OPERATIONS.events), async (request) => {
    refuseParameters(request);
    return EVENT_CATALOGUE;
  });
  app.get('/webhooks/:id', describe(WEBHOOK_OPERATIONS.get), (request) =>
    getWebhook(deps, actorOf(request), webhookId(request)),
  );
  app.post('/webhooks', describe(WEBHOOK_OPERATIONS.create), async (request, reply) => {
    const webhook = await runOnce(deps, request, (own) =>
      createWebhook(own, actorOf(request), envelope(request, 'webhook')),
    );
    return created(deps, request, reply, webhook);
  });
  app.patch('/webhooks/:id', describe(WEBHOOK_OPERATIONS.update), (request) =>
    patchWebhook(deps, actorOf(request), webhookId(request), envelope(request, 'webhook')),
  );
  app.delete('/webhooks/:id', describe(WEBHOOK_OPERATIONS.delete), async (request, reply) => {
    await deleteWebhook(deps, actorOf(request), webhookId(request));
    return reply.code(204).send();
  });
  app.post(
    '/webhooks/:id/regenerate_secret',
    describe(WEBHOOK_OPERATIONS.regenerateSecret),
    async (request) => {
      refuseFields(request);
      return runOnce(deps, request, async (own) => {
        await takeForWebhook(deps, request, 'webhookSecrets');
        return regenerateSecrets(own, actorOf(request), webhookId(request));
      });
    },
  );
  app.post('/webhooks/:id/test', describe(WEBHOOK_OPERATIONS.test), async (request) => {
    refuseFields(request);
    const delivery = await runOnce(deps, request, async (own) => {
      await takeForWebhook(deps, request, 'webhookTests');
      return sendTest(own, actorOf(request), webhookId(request));
    });
    return { delivery };
  });
  deliveryRoutes(app, deps);
}

function deliveryRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/webhooks/:id/deliveries', describe(WEBHOOK_OPERATIONS.deliveries), async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const page = await pageDeliveries(deps, actorOf(request), webhookId(request), query);
    const { limit, next_cursor: next } = page.meta;
    if (next !== null)
      reply.header('link', nextLink(deps, request, { ...query, limit: String(limit), cursor: next }));
    return page;
  });
  app.post(
    '/webhooks/:id/deliveries/:delivery_id/redeliver',
    describe(WEBHOOK_OPERATIONS.redeliver),
    async (request) => {
      refuseFields(request);
      const deliveryId = pathId(request, 'delivery_id', 'Delivery');
      const delivery = await runOnce(deps, request, (own) =>
        redeliver(own, actorOf(request), webhookId(request), deliveryId),
      );
      return { delivery };
    },
  );
}

function webhookId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Webhook');
}

/** Counts a request of a webhook, after checking that it is the caller's. @throws AppError 404, 403, 429 */
async function takeForWebhook(
  deps: ApiDeps,
  request: FastifyRequest,
  budget: 'webhookSecrets' | 'webhookTests',
): Promise<void> {
  const { id } = await getWebhook(deps, actorOf(request), webhookId(request));
  await take(deps.limiter, budget, id);
}
