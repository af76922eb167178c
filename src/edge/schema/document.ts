import { ENVELOPE_VERSION } from '../../core/brand.ts';
import type { EnvelopeErrorCode } from '../../core/errors.ts';
import { PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../../core/names/labels.ts';
import { envelopeStatus } from '../../core/query/envelope.ts';
import type { ServiceSchema } from '../services/schema.ts';
import type { Placeholder, Service, ServiceError } from '../services/service.ts';

export interface SchemaDocument {
  readonly status: 'ok';
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly resource_version: string;
  readonly schema: ServiceSchema;
  readonly meta: {
    readonly auth_required: boolean;
    readonly rate_limit_tier: string;
    readonly default_ttl: number;
  };
  readonly dns_format: {
    readonly query_template: string;
    readonly placeholders: Readonly<Record<string, Placeholder>>;
    readonly example_response: string;
  };
  readonly http_format: {
    readonly endpoint: string;
    readonly curl_example: string;
    readonly schema_endpoint: string;
  };
  readonly error_responses: readonly ErrorResponse[];
}

interface ErrorResponse {
  readonly status: string;
  readonly code: EnvelopeErrorCode;
  readonly description: string;
  readonly retry_after?: number;
}

/** Where the service is reached. */
export interface Reach {
  /** Its full name, without a trailing dot. */
  readonly zone: string;
  /** Root of the DNS-over-HTTPS host, without a slash at the end. */
  readonly dohUrl: string;
}

/** What every service may answer with. */
const MALFORMED: ServiceError = { code: 'E005', description: 'Malformed parameters: response code FORMERR' };

export function schemaDocument({ resource, about }: Service, { zone, dohUrl }: Reach): SchemaDocument {
  const info = `info.${resource}.${PUBLIC_NAMESPACE}.${PUBLIC_VERSION}.${zone}`;
  return {
    status: 'ok',
    version: ENVELOPE_VERSION,
    namespace: PUBLIC_NAMESPACE,
    resource,
    resource_version: PUBLIC_VERSION,
    schema: about.schema,
    meta: { auth_required: false, rate_limit_tier: 'unauthenticated', default_ttl: about.ttl },
    dns_format: {
      query_template: `${about.template}.${zone}`,
      placeholders: about.placeholders,
      example_response: about.exampleResponse,
    },
    http_format: {
      endpoint: `${dohUrl}/resolve?name=${about.template}.${zone}&type=TXT`,
      curl_example: `curl '${dohUrl}/resolve?name=${about.examples[0]}.${zone}&type=TXT'`,
      schema_endpoint: `${dohUrl}/schema?q=${info}`,
    },
    error_responses: [
      ...about.errors.filter(({ code }) => code !== MALFORMED.code),
      malformedOf(about.errors),
    ].map(errorResponse),
  };
}

function malformedOf(errors: readonly ServiceError[]): ServiceError {
  return errors.find(({ code }) => code === MALFORMED.code) ?? MALFORMED;
}

function errorResponse({ code, description, retryAfter }: ServiceError): ErrorResponse {
  const row = { status: envelopeStatus(code), code, description };
  return retryAfter === undefined ? row : { ...row, retry_after: retryAfter };
}
