import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { created, linkNext } from '../../http/answers.ts';
import { actorOf, take } from '../../http/guard.ts';
import { createdResponse, DELETED, describeRoutes } from '../../http/openapi/operation.ts';
import { envelope, pathId } from '../../http/request.ts';
import { arrayOf, resourceSchema } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import { runOnce } from '../unit.ts';
import { DELIVERY_PAGE_SCHEMA, DELIVERY_PARAMETERS, pageDeliveries, redeliver } from './deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listAuthorized,
  patchWebhook,
  regenerateSecrets,
  sendTest,
} from './rules.ts';
import {
  DELIVERY_SCHEMA,
  type DeliveryResource,
  EVENT_CATALOGUE,
  EVENT_CATALOGUE_SCHEMA,
  NEW_WEBHOOK,
  WEBHOOK_PATCH,
  WEBHOOK_SCHEMA,
  WEBHOOK_WITH_SECRETS_SCHEMA,
} from './shapes.ts';

const ONE_DELIVERY = resourceSchema<{ readonly delivery: DeliveryResource }>('DeliveryResult', {
  delivery: DELIVERY_SCHEMA,
});

const ROUTES = describeRoutes('Webhooks', 'credential', {
  list: {
    operationId: 'listWebhooks',
    summary: 'Lists webhooks, oldest first',
    query: {},
    responses: {
      200: { description: 'The webhooks that the credential may manage', schema: arrayOf(WEBHOOK_SCHEMA) },
    },
  },
  events: {
    operationId: 'listWebhookEvents',
    summary: 'Lists the events to subscribe to',
    query: {},
    responses: { 200: { description: 'The events', schema: EVENT_CATALOGUE_SCHEMA } },
  },
  get: {
    operationId: 'getWebhook',
    summary: 'Reads a webhook',
    responses: { 200: { description: 'The webhook, without its secrets', schema: WEBHOOK_SCHEMA } },
  },
  create: {
    operationId: 'createWebhook',
    summary: 'Creates a webhook',
    description:
      'Needs a paid tier. The URL is checked now, and again before every attempt. The secrets are in this answer only.',
    headers: ['Idempotency-Key'],
    request: enveloped('webhook', NEW_WEBHOOK.schema),
    responses: createdResponse(WEBHOOK_WITH_SECRETS_SCHEMA, 'The webhook with both secrets'),
  },
  update: {
    operationId: 'updateWebhook',
    summary: 'Changes a webhook',
    description:
      'Only what is given changes. Waiting deliveries of events and namespaces that it takes away end as `failed` with `webhook_disabled`. `enabled: false` ends all waiting deliveries; `enabled: true` starts with later events and `failure_count` 0.',
    request: enveloped('webhook', WEBHOOK_PATCH.schema),
    responses: { 200: { description: 'The webhook', schema: WEBHOOK_SCHEMA } },
  },
  delete: {
    operationId: 'deleteWebhook',
    summary: 'Deletes a webhook with its history',
    responses: DELETED,
  },
  regenerateSecret: {
    operationId: 'regenerateWebhookSecret',
    summary: 'Replaces both secrets',
    description: `The old ones are invalid at once, for waiting deliveries too. At most ${LIMITS.webhookSecretsPerHour} an hour for each webhook.`,
    headers: ['Idempotency-Key'],
    request: 'empty',
    responses: {
      200: { description: 'The webhook with two new secrets', schema: WEBHOOK_WITH_SECRETS_SCHEMA },
    },
  },
  test: {
    operationId: 'testWebhook',
    summary: 'Sends a test delivery now',
    description: `Also to a disabled webhook. The answer is 200 whatever the endpoint answered. At most ${LIMITS.webhookTestsPerMinute} a minute for each webhook.`,
    headers: ['Idempotency-Key'],
    request: 'empty',
    responses: { 200: { description: 'The result', schema: ONE_DELIVERY } },
  },
  deliveries: {
    operationId: 'listWebhookDeliveries',
    summary: 'Lists deliveries of the last 7 days, newest first unless another order is asked for',
    query: DELIVERY_PARAMETERS,
    responses: {
      200: { description: 'A page of deliveries', schema: DELIVERY_PAGE_SCHEMA, headers: ['Link'] },
    },
  },
  redeliver: {
    operationId: 'redeliverWebhookDelivery',
    summary: 'Makes a waiting delivery due now',
    description:
      'A delivery that has ended is 422: what it sent is erased. While the webhook has had its attempts of an hour, it is 429, and the delivery keeps its time.',
    headers: ['Idempotency-Key'],
    request: 'empty',
    responses: { 200: { description: 'The delivery', schema: ONE_DELIVERY } },
  },
});

export function webhookRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/webhooks', ROUTES.list, (request) => listAuthorized(deps, actorOf(request)));
  app.get('/webhooks/events', ROUTES.events, async () => EVENT_CATALOGUE);
  app.get('/webhooks/:id', ROUTES.get, (request) => getWebhook(deps, actorOf(request), webhookId(request)));
  app.post('/webhooks', ROUTES.create, async (request, reply) => {
    const webhook = await runOnce(deps, request, reply, (unit) =>
      createWebhook({ ...deps, unit }, actorOf(request), envelope(request, 'webhook')),
    );
    return created(deps, request, reply, webhook);
  });
  app.patch('/webhooks/:id', ROUTES.update, (request) =>
    patchWebhook(deps, actorOf(request), webhookId(request), envelope(request, 'webhook')),
  );
  app.delete('/webhooks/:id', ROUTES.delete, (request) =>
    deleteWebhook(deps, actorOf(request), webhookId(request)),
  );
  app.post('/webhooks/:id/regenerate_secret', ROUTES.regenerateSecret, async (request, reply) => {
    return runOnce(deps, request, reply, async (unit) => {
      await takeForWebhook(deps, request, 'webhookSecrets');
      return regenerateSecrets({ ...deps, unit }, actorOf(request), webhookId(request));
    });
  });
  app.post('/webhooks/:id/test', ROUTES.test, async (request, reply) => {
    const delivery = await runOnce(deps, request, reply, async (unit) => {
      await takeForWebhook(deps, request, 'webhookTests');
      return sendTest({ ...deps, unit }, actorOf(request), webhookId(request));
    });
    return { delivery };
  });
  deliveryRoutes(app, deps);
}

function deliveryRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/webhooks/:id/deliveries', ROUTES.deliveries, async (request, reply) => {
    const query = request.query as Readonly<Record<string, string>>;
    const page = await pageDeliveries(deps, actorOf(request), webhookId(request), query);
    const { limit, next_cursor: next } = page.meta;
    linkNext(deps, request, reply, limit, next);
    return page;
  });
  app.post('/webhooks/:id/deliveries/:delivery_id/redeliver', ROUTES.redeliver, async (request, reply) => {
    const deliveryId = pathId(request, 'delivery_id', 'Delivery');
    const delivery = await runOnce(deps, request, reply, (unit) =>
      redeliver({ ...deps, unit }, actorOf(request), webhookId(request), deliveryId),
    );
    return { delivery };
  });
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
