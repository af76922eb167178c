import { arrayOf, resourceSchema } from '../../../core/input/schema.ts';
import { enveloped } from '../../../core/input/shape.ts';
import { LIMITS } from '../../../core/limits.ts';
import { DELIVERY_PAGE_SCHEMA } from '../../webhooks/resource/delivery-history.ts';
import { DELIVERY_PARAMETERS } from '../../webhooks/resource/delivery-listing.ts';
import { NEW_WEBHOOK, WEBHOOK_PATCH } from '../../webhooks/resource/input.ts';
import {
  DELIVERY_SCHEMA,
  type DeliveryResource,
  EVENT_CATALOGUE_SCHEMA,
  WEBHOOK_SCHEMA,
  WEBHOOK_WITH_SECRETS_SCHEMA,
} from '../../webhooks/resource/webhook-resource.ts';
import { createdResponse, DELETED, type Operation } from '../openapi/operation.ts';

const tag = 'Webhooks';
const auth = 'credential';
const ONE_DELIVERY = resourceSchema<{ readonly delivery: DeliveryResource }>('DeliveryResult', {
  delivery: DELIVERY_SCHEMA,
});

export const WEBHOOK_OPERATIONS = {
  list: {
    operationId: 'listWebhooks',
    summary: 'Lists webhooks, oldest first',
    tag,
    auth,
    responses: {
      200: { description: 'The webhooks that the credential may manage', schema: arrayOf(WEBHOOK_SCHEMA) },
    },
    errors: [400],
  },
  events: {
    operationId: 'listWebhookEvents',
    summary: 'Lists the events to subscribe to',
    tag,
    auth,
    responses: { 200: { description: 'The events', schema: EVENT_CATALOGUE_SCHEMA } },
    errors: [400],
  },
  get: {
    operationId: 'getWebhook',
    summary: 'Reads a webhook',
    tag,
    auth,
    responses: { 200: { description: 'The webhook, without its secrets', schema: WEBHOOK_SCHEMA } },
  },
  create: {
    operationId: 'createWebhook',
    summary: 'Creates a webhook',
    description:
      'Needs a paid tier. The URL is checked now, and again before every attempt. The secrets are in this answer only.',
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: enveloped('webhook', NEW_WEBHOOK.schema),
    responses: createdResponse(WEBHOOK_WITH_SECRETS_SCHEMA, 'The webhook with both secrets'),
  },
  update: {
    operationId: 'updateWebhook',
    summary: 'Changes a webhook',
    description:
      'Only what is given changes. Waiting deliveries of events and namespaces that it takes away end as `failed` with `webhook_disabled`. `enabled: false` ends all waiting deliveries; `enabled: true` starts with later events and `failure_count` 0.',
    tag,
    auth,
    request: enveloped('webhook', WEBHOOK_PATCH.schema),
    responses: { 200: { description: 'The webhook', schema: WEBHOOK_SCHEMA } },
  },
  delete: {
    operationId: 'deleteWebhook',
    summary: 'Deletes a webhook with its history',
    tag,
    auth,
    responses: DELETED,
  },
  regenerateSecret: {
    operationId: 'regenerateWebhookSecret',
    summary: 'Replaces both secrets',
    description: `The old ones are invalid at once, for waiting deliveries too. At most ${LIMITS.webhookSecretsPerHour} an hour for each webhook.`,
    tag,
    auth,
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
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: 'empty',
    responses: { 200: { description: 'The result', schema: ONE_DELIVERY } },
  },
  deliveries: {
    operationId: 'listWebhookDeliveries',
    summary: 'Lists deliveries of the last 7 days, newest first',
    tag,
    auth,
    query: DELIVERY_PARAMETERS,
    responses: {
      200: { description: 'A page of deliveries', schema: DELIVERY_PAGE_SCHEMA, headers: ['Link'] },
    },
  },
  redeliver: {
    operationId: 'redeliverWebhookDelivery',
    summary: 'Makes a waiting delivery due now',
    description: 'A delivery that has ended is 422: what it sent is erased.',
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: 'empty',
    responses: { 200: { description: 'The delivery', schema: ONE_DELIVERY } },
  },
} as const satisfies Readonly<Record<string, Operation>>;
