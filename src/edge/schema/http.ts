import type { ErrorCode } from '../../core/errors.ts';
import { foldCase, PUBLIC_NAMESPACE } from '../../core/labels.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Query } from '../../core/query.ts';
import { parseQueryName } from '../../core/query-name.ts';
import type { Service } from '../services/service.ts';
import { PUBLIC_VERSION, type SchemaDocument, schemaDocument } from './document.ts';
import { described } from './publish.ts';

export interface SchemaOptions {
  readonly services: readonly Service[];
  /** The configured zones, without trailing dots; the first is the one in examples. */
  readonly zones: readonly string[];
  /** Root of the DNS-over-HTTPS host; asked when somebody asks, since a port may not be known before. */
  readonly dohUrl: () => string;
}

export interface SchemaReply {
  readonly status: number;
  readonly body: SchemaDocument | { readonly error: string; readonly code: ErrorCode };
}

/**
 * `GET /schema?q=<query name>`: of the name only resource, namespace and version count (specification, Schema discovery;
 * errors: decisions, section 6).
 *
 * @returns a function of `q`, null where the parameter is missing
 */
export function makeSchemaApi({ services, zones, dohUrl }: SchemaOptions): (q: string | null) => SchemaReply {
  const zone = zones[0]!;
  const byResource = new Map(described(services, zone).map((service) => [service.resource, service]));
  return (q) => {
    if (q === null || q === '') return fault(400, 'validation_error', 'q is required');
    const query = parse(q, zones);
    if (query === null) return fault(400, 'validation_error', 'q is not a query name');
    if (query.namespace !== PUBLIC_NAMESPACE) {
      return fault(403, 'authorization_error', 'Schemas of private namespaces are not served');
    }
    const service = byResource.get(query.operation === 'geoip' ? 'geoip' : query.resource);
    if (service === undefined || query.version !== PUBLIC_VERSION) {
      return fault(404, 'not_found', 'Schema not found');
    }
    return { status: 200, body: schemaDocument(service, { zone, dohUrl: dohUrl() }) };
  };
}

/** A query name with its zone, as it is asked for, or without. */
function parse(q: string, zones: readonly string[]): Query | null {
  const name = foldCase(q).replace(/\.$/, '');
  if (name.length > LIMITS.queryName) return null;
  const zone = zones.find((one) => name.endsWith(`.${one}`));
  const parsed = parseQueryName(zone === undefined ? name : name.slice(0, -zone.length - 1));
  return parsed.kind === 'query' ? parsed.query : null;
}

function fault(status: number, code: ErrorCode, error: string): SchemaReply {
  return { status, body: { error, code } };
}
