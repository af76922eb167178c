import { LIMITS } from '../../base/limits.ts';
import { DELIVERY_BODY_SCHEMAS } from '../../control/webhooks/event-schemas.ts';
import { HEX_SECRET, type Schema, UUID } from '../../protocol/input/schema.ts';
import { type DeliveryEvent, WEBHOOK_EVENTS } from '../../protocol/webhooks.ts';
import { exampleOf } from './example.ts';
import type { TAGS } from './operation.ts';

const TAG: keyof typeof TAGS = 'Webhooks';

const ABOUT: Readonly<Record<DeliveryEvent, string>> = {
  ...WEBHOOK_EVENTS,
  'webhook.test': 'You asked for a test of the webhook',
};

const OUTCOMES = {
  '2XX': { description: 'The delivery has succeeded' },
  '3XX': { description: 'The attempt has failed: redirects are not followed' },
  '4XX': { description: 'The attempt has failed, and is repeated later' },
  '5XX': { description: 'The attempt has failed, and is repeated later' },
} as const;

/** What the service sends to endpoints of customers. @param hoist makes a reference of a schema with a title */
export function webhookSection(hoist: (schema: Schema) => Schema): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    Object.entries(DELIVERY_BODY_SCHEMAS).map(([event, schema]) => [
      event,
      { post: deliveryObject(event as DeliveryEvent, schema, hoist) },
    ]),
  );
}

function deliveryObject(event: DeliveryEvent, schema: Schema, hoist: (schema: Schema) => Schema): Schema {
  return {
    operationId: operationIdOf(event),
    summary: ABOUT[event],
    description: `Answer within ${LIMITS.webhookDeadlineMs / 1000} seconds. Verify the signature before anything else: docs/WEBHOOKS.md.`,
    tags: [TAG],
    // The signature is the only proof of the sender.
    security: [],
    parameters: [
      header('X-Service-Signature', 't=<unix time>,v1=<HMAC-SHA256 of "<t>.<body>" by the signing secret>', {
        type: 'string',
        examples: [`t=1767225600,v1=${HEX_SECRET.examples[0]}`],
      }),
      header('X-Service-Event', 'Name of the event. It is not signed: the body has it too', {
        type: 'string',
        const: event,
      }),
      header('X-Service-Delivery', 'Id of the delivery, the same at every attempt', UUID),
    ],
    requestBody: {
      description: `At most ${LIMITS.webhookBody} octets`,
      required: true,
      content: { 'application/json': { schema: hoist(schema), example: exampleOf(schema) } },
    },
    responses: OUTCOMES,
  };
}

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'header', required: true, description, schema };
}

/** `onRecordUpserted` for `record.upserted`. */
function operationIdOf(event: DeliveryEvent): string {
  return `on${event.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
}
