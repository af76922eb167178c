/** The table operation -> handler. Checks, answers, NSEC and `GET /schema` share it, so that they cannot disagree. */

import type { EnvelopeErrorCode } from '../../../base/errors.ts';
import { DATASETS_RESOURCE, PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../../../protocol/names/labels.ts';
import type { MalformedCause } from '../../../protocol/query/malformed.ts';
import { FOREVER, type Outcome } from '../../../protocol/query/outcome.ts';
import { OPERATIONS, type Operation, type Query } from '../../../protocol/query/query.ts';
import type { PublicService } from './public-service.ts';

/** Services below `public.v1`, by resource label. */
export type Services = ReadonlyMap<string, PublicService>;

type Target = Pick<Query, 'resource' | 'namespace' | 'version'>;

/** `query`: continue. `refused`: REFUSED. A code: the name is malformed. */
type NameCheck = 'query' | 'refused' | EnvelopeErrorCode;

interface OperationRow {
  /** Whether the operation fits resource, namespace and version, by the name alone. */
  readonly check: (target: Target) => NameCheck;
  /** The key in `Services`. */
  readonly serviceLabel: (resource: string) => string;
  readonly params: (query: Query) => readonly string[];
  /** The outcome when `Services` has no such key. */
  readonly unserved: Outcome;
  readonly answer: (
    service: PublicService,
    query: Query,
    now: number,
    zone: string,
  ) => Outcome | Promise<Outcome>;
}

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const REFUSED: Outcome = { kind: 'refused', until: FOREVER };
const PARAMS_OF_INFO: Outcome = { kind: 'malformed', code: 'E005' };
const INTERNAL: Outcome = { kind: 'failed', cause: 'internal' };
const ADDRESS_PREFIX = 'ip-';
const GEOIP_SERVICE = 'geoip';

const GET: OperationRow = {
  check: ({ resource }) => (resource === DATASETS_RESOURCE ? 'refused' : 'query'),
  serviceLabel: (resource) => resource,
  params: ({ params }) => params,
  unserved: MISSING,
  answer: (service, query, now, zone) => service.answer(query, now, zone),
};

/** A query token changes nothing: the resource `datasets` is reserved in every namespace. */
const OF_DATASETS: OperationRow = {
  ...GET,
  check: ({ resource, namespace, version }) => {
    if (resource !== DATASETS_RESOURCE) return 'E002';
    return namespace === PUBLIC_NAMESPACE && version === PUBLIC_VERSION ? 'query' : 'refused';
  },
  unserved: REFUSED,
};

const TABLE: Readonly<Record<Operation, OperationRow>> = {
  get: GET,
  info: {
    ...GET,
    check: (target) => (target.namespace === PUBLIC_NAMESPACE ? GET.check(target) : 'refused'),
    answer: (service, { params }, _now, zone) => (params.length === 0 ? service.info(zone) : PARAMS_OF_INFO),
  },
  // The resource is the argument; the operation selects the service.
  geoip: {
    ...GET,
    check: (target) => {
      if (target.resource === DATASETS_RESOURCE) return 'refused';
      const isAddress = target.namespace === PUBLIC_NAMESPACE && target.resource.startsWith(ADDRESS_PREFIX);
      return isAddress ? 'query' : 'E002';
    },
    serviceLabel: () => GEOIP_SERVICE,
    params: ({ params, resource }) => [...params, resource],
  },
  manifest: OF_DATASETS,
  identity: OF_DATASETS,
};

/** Whether the operation of a query fits its resource and namespace. Reads nothing that is stored. */
export function checkOperation(query: Query): NameCheck {
  return TABLE[query.operation].check(query);
}

/** What is wrong where `checkOperation` found the name malformed. */
export function causeOfMisfit({ operation }: Query): MalformedCause {
  return operation === 'geoip' ? 'address' : 'operation';
}

export function selectService<T>(
  operation: Operation,
  resource: string,
  services: ReadonlyMap<string, T>,
): T | undefined {
  return services.get(TABLE[operation].serviceLabel(resource));
}

/** What computing the answer to a query costs, in signatures. `info` computes nothing. */
export function workOf({ operation, resource, namespace, version }: Query, services: Services): number {
  if (operation === 'info' || namespace !== PUBLIC_NAMESPACE || version !== PUBLIC_VERSION) return 0;
  return selectService(operation, resource, services)?.work ?? 0;
}

/** The still encoded labels that are parameters of the service. */
export function paramLabels(query: Query): readonly string[] {
  return TABLE[query.operation].params(query);
}

export function isServed(resource: string, version: string, services: Services): boolean {
  if (version !== PUBLIC_VERSION) return false;
  const target = { resource, namespace: PUBLIC_NAMESPACE, version };
  return OPERATIONS.some(
    (operation) =>
      TABLE[operation].check(target) === 'query' &&
      selectService(operation, resource, services) !== undefined,
  );
}

/**
 * Answers a query of `public` that `checkOperation` accepted. Never throws or rejects: a failing service is a failed
 * outcome. `now` in milliseconds since the epoch; `zone` without a trailing dot.
 */
export function answerPublic(
  query: Query,
  services: Services,
  now: number,
  zone: string,
): Outcome | Promise<Outcome> {
  const row = TABLE[query.operation];
  const service = selectService(query.operation, query.resource, services);
  if (service === undefined) return row.unserved;
  if (query.version !== PUBLIC_VERSION) return MISSING;
  try {
    const outcome = row.answer(service, query, now, zone);
    return outcome instanceof Promise ? outcome.catch(() => INTERNAL) : outcome;
  } catch {
    return INTERNAL;
  }
}
