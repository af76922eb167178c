import { AUTH_PREFIX, isLabel, isVersion, PUBLIC_NAMESPACE } from './labels.ts';

/** DNS has no `put` and no `delete`. */
export const OPERATIONS = ['get', 'info', 'geoip', 'manifest', 'identity'] as const;

export type QueryOperation = (typeof OPERATIONS)[number];

/** A parsed question, in lower case except `b64-` params. Without a client address: no answer can depend on one. */
export interface Query {
  readonly operation: QueryOperation;
  /** The query token without `auth-`, or null. It is only ever hashed. */
  readonly token: string | null;
  /** Labels between the operation (and token) and the resource. */
  readonly params: readonly string[];
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  /** Storage key `[<params>.]<resource>.<namespace>.<version>`. */
  readonly key: string;
}

const SHORTEST = 4;

/** A coordinate pair of the public services: the only label with `_` or a leading `-`. */
const COORDINATES = /^-?[0-9]{1,3}(?:d[0-9]+)?_-?[0-9]{1,3}(?:d[0-9]+)?$/;

const operations: ReadonlySet<string> = new Set(OPERATIONS);

export type ParsedName =
  | { readonly kind: 'query'; readonly query: Query }
  /** Fewer labels than any query has. Resolvers that minimise names ask this (RFC 9156); the answer is NODATA. */
  | { readonly kind: 'short' }
  /** E001: a label; E002: the operation; E003: the version. */
  | { readonly kind: 'malformed'; readonly code: 'E001' | 'E002' | 'E003' };

const SHORT: ParsedName = { kind: 'short' };
const BAD_NAME: ParsedName = { kind: 'malformed', code: 'E001' };
const BAD_OPERATION: ParsedName = { kind: 'malformed', code: 'E002' };
const BAD_VERSION: ParsedName = { kind: 'malformed', code: 'E003' };

/**
 * Parses the part of a query name below the zone.
 * @param name lower-case text without a trailing dot; '' is the apex
 */
export function parseQueryName(name: string): ParsedName {
  if (name === '') return SHORT;
  const labels = name.split('.');
  const count = labels.length;
  if (count < SHORTEST) return SHORT;

  const operation = labels[0]!;
  const version = labels[count - 1]!;
  const namespace = labels[count - 2]!;
  const resource = labels[count - 3]!;
  if (!isLabel(namespace) || namespace.startsWith(AUTH_PREFIX)) return BAD_NAME;
  if (!isLabel(resource) || resource.startsWith(AUTH_PREFIX)) return BAD_NAME;
  if (!isVersion(version)) return BAD_VERSION;
  if (!isOperation(operation)) return BAD_OPERATION;

  // A token can only be the label after the operation.
  const first = labels[1]!;
  const hasToken = count > SHORTEST && first.startsWith(AUTH_PREFIX);
  if (hasToken && !isLabel(first)) return BAD_NAME;
  const paramsAt = hasToken ? 2 : 1;
  const params = labels.slice(paramsAt, count - 3);
  const open = namespace === PUBLIC_NAMESPACE;
  for (const param of params) {
    if (!isParam(param, open)) return BAD_NAME;
  }
  return {
    kind: 'query',
    query: {
      operation,
      token: hasToken ? first.slice(AUTH_PREFIX.length) : null,
      params,
      resource,
      namespace,
      version,
      key: name.slice(operation.length + 1 + (hasToken ? first.length + 1 : 0)),
    },
  };
}

/** @param label in lower case. @param open whether the namespace is `public`, whose services read coordinates */
export function isParam(label: string, open: boolean): boolean {
  if (label.startsWith(AUTH_PREFIX)) return false;
  return isLabel(label) || (open && COORDINATES.test(label));
}

export function isOperation(label: string): label is QueryOperation {
  return operations.has(label);
}
