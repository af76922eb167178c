import { ENVELOPE_VERSION } from '../../base/brand.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { foldCase, PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../../protocol/names/labels.ts';
import { isOperation, parseQueryName, type Query } from '../../protocol/names/query-name.ts';
import { type EnvelopeErrorCode, envelopeStatus } from '../../protocol/query/envelope.ts';
import type { Placeholder, Service, ServiceError, ServiceSchema } from '../../services/service.ts';
import { selectService } from '../query/operations.ts';
import { described } from './publish.ts';

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
interface Reach {
  /** Its full name, without a trailing dot. */
  readonly zone: string;
  /** Root of the DNS-over-HTTPS host, without a slash at the end. */
  readonly dohUrl: string;
}

/** What every service may answer with. */
const MALFORMED: ServiceError = { code: 'E005', description: 'Malformed parameters: response code FORMERR' };

function schemaDocument({ resource, about }: Service, { zone, dohUrl }: Reach): SchemaDocument {
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

/** Operation, resource, namespace, version. */
const LABELS_MIN = 4;
/** Octets of a label (RFC 1035 §2.3.4). */
const LABEL_MAX = 63;

export interface SchemaOptions {
  readonly services: readonly Service[];
  /** The configured zones, without trailing dots; the first is the one in examples where `q` names none. */
  readonly zones: readonly string[];
  /** Root of the DNS-over-HTTPS host; read at each request, since the port may not be known before. */
  readonly dohUrl: () => string;
}

export interface SchemaReply {
  readonly status: number;
  readonly body: SchemaDocument | { readonly error: string; readonly code: ErrorCode };
}

/**
 * `GET /schema?q=<query name>`: of the name only resource, namespace and version count.
 * @returns a function of `q`, null where the parameter is missing
 */
export function makeSchemaApi({ services, zones, dohUrl }: SchemaOptions): (q: string | null) => SchemaReply {
  const byZone = new Map(
    zones.map((zone) => [zone, new Map(described(services, zone).map((one) => [one.resource, one]))]),
  );
  return (q) => {
    if (q === null || q === '') return fault(400, 'validation_error', 'q is required');
    const asked = parse(q, zones);
    if (asked === null) return fault(400, 'validation_error', 'q is not a query name');
    const { query, zone } = asked;
    if (query.namespace !== PUBLIC_NAMESPACE) {
      return fault(403, 'authorization_error', 'Schemas of private namespaces are not served');
    }
    const service = selectService(query.operation, query.resource, byZone.get(zone)!);
    if (service === undefined || query.version !== PUBLIC_VERSION) {
      return fault(404, 'not_found', 'Schema not found');
    }
    return { status: 200, body: schemaDocument(service, { zone, dohUrl: dohUrl() }) };
  };
}

/**
 * A query name with or without its zone. Params are ignored. A first label that is no operation counts as `get`: the
 * operation only selects the service.
 */
function parse(q: string, zones: readonly string[]): { readonly query: Query; readonly zone: string } | null {
  const name = foldCase(q).replace(/\.$/, '');
  if (name.length > LIMITS.queryName) return null;
  const zone = zones.find((one) => name.endsWith(`.${one}`));
  const below = zone === undefined ? name : name.slice(0, -zone.length - 1);
  const labels = below.split('.');
  if (labels.length < LABELS_MIN || labels.some((label) => label === '' || label.length > LABEL_MAX))
    return null;
  const operation = isOperation(labels[0]!) ? labels[0] : 'get';
  const parsed = parseQueryName([operation, ...labels.slice(-3)].join('.'));
  return parsed.kind === 'query' ? { query: parsed.query, zone: zone ?? zones[0]! } : null;
}

function fault(status: number, code: ErrorCode, error: string): SchemaReply {
  return { status, body: { error, code } };
}
