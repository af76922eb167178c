import { LIMITS } from '../../base/limits.ts';
import { TIERS } from '../../base/tiers.ts';
import { EVENT_CATALOGUE, EVENT_CATALOGUE_SCHEMA } from '../../control/webhooks/resource/webhook-resource.ts';
import { arrayOf, resourceSchema, type Schema } from '../../protocol/input/schema.ts';
import { recordKeyMax } from '../../protocol/names/record-key.ts';
import { RESERVED_NAMES } from '../../protocol/names/reserved-names.ts';
import { FORMATS } from '../../protocol/query/envelope.ts';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Where clients reach this installation. Null: this process does not know, because it answers no DNS. */
interface Endpoints {
  readonly rest: string;
  readonly dns: Endpoint | null;
  readonly dot: Endpoint | null;
  readonly doh: string | null;
  readonly resolve: string | null;
  readonly schema: string | null;
}

export interface Features {
  readonly organizations: boolean;
  readonly datasets: boolean;
  readonly datasets_asof: boolean;
  readonly billing: boolean;
  readonly passkeys: boolean;
  readonly sign_up: boolean;
  /** Whether requests and writes are limited in number. */
  readonly rate_limits: boolean;
}

/** What the composition root knows of the server. */
export interface ServiceFacts {
  /** Of the program. */
  readonly version: string;
  /** Full names without a trailing dot. */
  readonly zones: readonly string[];
  readonly features: Features;
  /** Ports that listen; null: this process answers no DNS. */
  readonly dnsPorts: () => { readonly dns: number; readonly dot: number; readonly doh: number } | null;
}

export interface MetaResource {
  readonly version: string;
  readonly zones: readonly string[];
  readonly endpoints: Endpoints;
  readonly limits: Readonly<Record<string, number>>;
  readonly tiers: Readonly<Record<string, (typeof TIERS)[keyof typeof TIERS]>>;
  readonly reserved_names: readonly string[];
  readonly webhook_events: (typeof EVENT_CATALOGUE)['events'];
  readonly content_formats: Readonly<Record<string, string>>;
  readonly features: Features;
}

/** Letters of the longest key that can be queried with a token in every zone of the server. */
export function longestRecordKey(zones: readonly string[]): number {
  return recordKeyMax(Math.max(...zones.map(({ length }) => length)));
}

/** The limits that a client can meet, under their names of `core/limits.ts` in snake case. */
const SHOWN_LIMITS = [
  ...(['recordData', 'contentType', 'ttlSecondsMax', 'ttlSecondsDefault', 'label', 'queryName'] as const),
  ...(['namespaceNameMin', 'namespaceNameMax', 'namespacesPerCustomer'] as const),
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

export function metaOf(
  { version, zones, features, dnsPorts }: ServiceFacts,
  publicUrl: string,
): MetaResource {
  const ports = dnsPorts();
  const { hostname: host } = new URL(publicUrl);
  const doh = ports && `https://${host}:${ports.doh}`;
  return {
    version,
    zones,
    endpoints: {
      rest: `${publicUrl}/api/v1`,
      dns: ports && { host, port: ports.dns },
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

export const META_SCHEMA = resourceSchema<MetaResource>('Meta', {
  version: { type: 'string', examples: ['0.2.0'] },
  zones: arrayOf({ type: 'string', examples: ['uqrp.net'] }, { description: 'Zones of query names' }),
  endpoints: resourceSchema<Endpoints>('Endpoints', {
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
