import type { FastifyInstance } from 'fastify';
import { LIMITS, TIERS } from '../base/limits.ts';
import { type Document, documentOf, sendDocument } from '../http/answers.ts';
import { type DescribedRoute, openApiDocument } from '../http/openapi/document.ts';
import { describeRoutes } from '../http/openapi/operation.ts';
import { arrayOf, resourceSchema, type Schema } from '../protocol/input/schema.ts';
import { RESERVED_NAMES } from '../protocol/names/namespace-name.ts';
import { recordKeyMax } from '../protocol/names/record-key.ts';
import { FORMATS } from '../protocol/query/envelope.ts';
import type { ApiDeps, Features, ServiceFacts } from './api-deps.ts';
import { DELIVERY_BODY_SCHEMAS } from './webhooks/events.ts';
import { EVENT_CATALOGUE, EVENT_CATALOGUE_SCHEMA } from './webhooks/shapes.ts';

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

type MetaResource = ReturnType<typeof metaOf>;

/** Letters of the longest key that can be queried with a token in every zone of the server. */
function longestRecordKey(zones: readonly string[]): number {
  return recordKeyMax(Math.max(...zones.map(({ length }) => length)));
}

/** The limits that a client can meet, under their names of `base/limits.ts` in snake case. */
const SHOWN_LIMITS = [
  ...(['recordData', 'contentType', 'ttlSecondsMax', 'ttlSecondsDefault', 'label', 'queryName'] as const),
  ...(['namespaceNameMin', 'namespaceNameMax', 'namespacesPerCustomer'] as const),
  ...(['historyVersions', 'historyDays'] as const),
  ...([
    'queryTokenName',
    'queryTokenDaysMax',
    'queryTokenDaysDefault',
    'queryTokenDaysOfMember',
    'queryTokensPerNamespace',
  ] as const),
  ...(['apiKeyName', 'apiKeyNamespaces', 'apiKeysPerCustomer'] as const),
  ...(['requestBody', 'bulkBody', 'bulkItems', 'pageRecordsMax', 'pageMax'] as const),
  ...(['listingsPerCustomer', 'pagesPerCustomer', 'listingIdleMs', 'listingMs', 'pageMs'] as const),
  ...(['idempotencyKey', 'idempotencyHours', 'idempotencyKeys'] as const),
  ...(['unauthenticatedPerMinute', 'authenticatedPerMinute', 'writesPerMinute', 'writesPerHour'] as const),
  ...(['webhookName', 'webhookUrl', 'webhookNamespaces', 'webhookBody', 'webhookAttemptsPerHour'] as const),
  ...(['webhookPending', 'webhookFailures', 'webhookHistoryDays'] as const),
  ...([
    'webhookSecretsPerHour',
    'webhookTestsPerMinute',
    'queryLogHours',
    'queryLogStreamsPerCustomer',
  ] as const),
  ...(['webhookDeadlineMs', 'webhookRestMaxMs', 'webhookEvents', 'organizationName'] as const),
  ...(['organizationsPerUser', 'membersPerOrganization', 'sessionsPerUser', 'signInCodeMinutes'] as const),
  ...(['signInCodeTries', 'restQueriesPerAddress'] as const),
  ...(['passkeyName', 'passkeysPerUser', 'txtValue', 'dohRequestsPerMinute'] as const),
];

function metaOf(facts: ServiceFacts, publicUrl: string) {
  const { version, zones, features, dnsHost, dnsPorts, webhookSchedule } = facts;
  const ports = dnsPorts();
  const { hostname: host } = new URL(publicUrl);
  const doh = ports && `https://${host}:${ports.doh}`;
  return {
    version,
    zones,
    endpoints: {
      rest: `${publicUrl}/api/v1`,
      dns: ports && { host: dnsHost(publicUrl), port: ports.dns },
      dot: ports && { host, port: ports.dot },
      doh: doh && `${doh}/dns-query`,
      resolve: doh && `${doh}/resolve`,
      schema: doh && `${doh}/schema`,
    },
    limits: {
      record_key: longestRecordKey(zones),
      ...Object.fromEntries(SHOWN_LIMITS.map((name) => [snakeCase(name), LIMITS[name]])),
    },
    tiers: TIERS,
    reserved_names: [...RESERVED_NAMES],
    webhook_events: EVENT_CATALOGUE.events,
    webhook_schedule: webhookSchedule,
    content_formats: Object.fromEntries(FORMATS),
    features,
  };
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const FLAG = { type: 'boolean' } as const;
const NUMBER = { type: 'integer' } as const;
const URL_OR_NULL = { type: ['string', 'null'] } as const;

const ENDPOINT = {
  anyOf: [
    resourceSchema<Endpoint>('Endpoint', {
      host: { type: 'string', examples: ['localhost'] },
      port: { type: 'integer', minimum: 1, maximum: 65_535, examples: [5300] },
    }),
    { type: 'null' },
  ],
} as const;

function mapOf(values: Schema, example: unknown): Schema & { readonly type: 'object' } {
  return { type: 'object', additionalProperties: values, examples: [example] };
}

const META_SCHEMA = resourceSchema<MetaResource>('Meta', {
  version: { type: 'string', examples: ['0.2.0'] },
  zones: arrayOf({ type: 'string', examples: ['uqrp.net'] }, { description: 'Zones of query names' }),
  endpoints: resourceSchema<MetaResource['endpoints']>('Endpoints', {
    rest: { type: 'string', examples: ['http://localhost:8080/api/v1'] },
    dns: { ...ENDPOINT, description: 'UDP and TCP. null: this process answers no DNS' },
    dot: { ...ENDPOINT, description: 'DNS over TLS' },
    doh: { ...URL_OR_NULL, examples: ['https://localhost:8443/dns-query'] },
    resolve: { ...URL_OR_NULL, description: 'DNS as JSON', examples: ['https://localhost:8443/resolve'] },
    schema: {
      ...URL_OR_NULL,
      description: 'Schemas of public services',
      examples: ['https://localhost:8443/schema'],
    },
  }),
  limits: {
    ...mapOf(NUMBER, { record_data: LIMITS.recordData, bulk_items: LIMITS.bulkItems }),
    description: 'By name; docs/OPERATIONS.md explains them. Names that end in `_ms` are milliseconds',
  },
  tiers: {
    ...mapOf(
      resourceSchema<{ records: number; webhooks: number; allowance: number }>('Tier', {
        records: NUMBER,
        webhooks: NUMBER,
        allowance: { ...NUMBER, description: 'Private reads a month; it enforces nothing' },
      }),
      TIERS,
    ),
    description: 'What each tier may use',
  },
  reserved_names: arrayOf(
    { type: 'string', examples: ['public'] },
    { description: 'Names that no namespace can have' },
  ),
  webhook_events: EVENT_CATALOGUE_SCHEMA.properties.events,
  webhook_schedule: arrayOf(
    { ...NUMBER, examples: [300] },
    { description: 'Seconds before each attempt of a delivery' },
  ),
  content_formats: {
    ...mapOf({ type: 'string' }, { 'application/json': 'json' }),
    description:
      'Field `f` of the envelope by media type. Others: `json` for +json, `xml` for +xml, else `bin`',
  },
  features: resourceSchema<Features>('Features', {
    organizations: FLAG,
    datasets: FLAG,
    datasets_asof: FLAG,
    billing: FLAG,
    passkeys: FLAG,
    sign_up: { ...FLAG, description: 'Whether everybody may open an account' },
    rate_limits: FLAG,
  }),
});

const ROUTES = describeRoutes('Service', 'none', {
  meta: {
    operationId: 'getMeta',
    summary: 'Zones, endpoints, limits, tiers, events and features of this server',
    query: {},
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
    query: {},
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
});

/** Seconds that a client may use the answer without asking again. */
const MAX_AGE = 300;

/** What the API says of itself. @param routes complete once the server is ready */
export function serviceRoutes(app: FastifyInstance, deps: ApiDeps, routes: readonly DescribedRoute[]): void {
  let document: Document | null = null;
  app.get('/openapi.json', ROUTES.openapi, async (request, reply) => {
    document ??= documentOf(
      openApiDocument(routes, {
        server: `${deps.publicUrl()}/api/v1`,
        version: deps.service.version,
        recordKeyMax: longestRecordKey(deps.service.zones),
        deliveries: DELIVERY_BODY_SCHEMAS,
      }),
    );
    return sendDocument(request, reply, document, MAX_AGE);
  });

  app.get('/meta', ROUTES.meta, async (request, reply) => {
    return sendDocument(request, reply, documentOf(metaOf(deps.service, deps.publicUrl())), MAX_AGE);
  });
}
