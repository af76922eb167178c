import { LIMITS } from '../../base/limits.ts';
import { PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import { DEMO_NAMESPACES } from '../../protocol/names/namespace-name.ts';
import type { Query } from '../../protocol/names/query-name.ts';
import { envelopeHead } from '../../protocol/query/envelope.ts';
import { FOREVER, type Outcome } from '../../protocol/query/outcome.ts';
import { queryTokenDigest } from '../../protocol/query/query-token.ts';
import type { HostedRecord, HostedView } from '../../view/view.ts';
import { answerPublic, type Need, type Services } from './operations.ts';

export interface ResolveContext {
  readonly view: HostedView;
  readonly access: AccessSettings;
  readonly services: Services;
}

/** What a query gets, and how it was allowed to read. */
interface Resolved {
  /** Null when the view could not be read. */
  readonly access: Access | null;
  readonly outcome: Outcome | Promise<Outcome>;
}

const STORAGE_FAILED: Resolved = { access: null, outcome: { kind: 'failed', cause: 'storage' } };

/**
 * Checks access, then asks the service or reads the record. Never throws or rejects: an unreadable view is a failed
 * outcome. `now` in milliseconds since the epoch; `zone` without a trailing dot, for texts of services.
 */
export function resolve(
  query: Query,
  context: ResolveContext,
  now: number,
  zone: string,
  need: Need = 'text',
): Resolved {
  try {
    const access = checkAccess(query, context.view, context.access, now);
    return { access, outcome: outcomeOf(access, query, context, now, zone, need) };
  } catch {
    return STORAGE_FAILED;
  }
}

function outcomeOf(
  access: Access,
  query: Query,
  { view, services }: ResolveContext,
  now: number,
  zone: string,
  need: Need,
): Outcome | Promise<Outcome> {
  switch (access.kind) {
    case 'refused':
      return { kind: 'refused', until: access.until };
    case 'public':
      return answerPublic(query, services, now, zone, need);
    case 'demo': {
      const stored = view.record(query.key);
      return hostedOutcome(stored ?? demoRecord(query.params, query.resource, query.version), OF_DEMO, now);
    }
    case 'open':
      return hostedOutcome(view.record(query.key), readingOf(access, query, view, now), now);
    case 'private':
      return endingBy(
        access.until,
        hostedOutcome(view.record(query.key), readingOf(access, query, view, now), now),
      );
  }
}

const OF_DEMO: HostedReading = { maxTtl: () => LIMITS.openTtlDefault, hasExpired: () => false };

function readingOf(
  { kind, namespaceId }: Extract<Access, { kind: 'open' | 'private' }>,
  { key, namespace }: Query,
  view: HostedView,
  now: number,
): HostedReading {
  return {
    maxTtl: () => (kind === 'open' ? view.maxTtl(namespace) : 0),
    hasExpired: () => view.hasExpired(key, namespaceId, now),
  };
}

/** The outcome, valid no longer than the token that gave access. */
function endingBy(until: number, outcome: Outcome): Outcome {
  return outcome.kind === 'answer' || outcome.kind === 'empty'
    ? { ...outcome, until: Math.min(outcome.until, until) }
    : outcome;
}

export interface AccessSettings {
  /** False: no namespace is open, regardless of `public_read` in the view. */
  readonly sync: boolean;
  /** True: demo namespaces answer without a token. */
  readonly demo: boolean;
}

/**
 * How a query may read its namespace. `until`: milliseconds since the epoch at which the access expires.
 * `namespaceId`: null when the view has no such namespace.
 */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'demo' }
  | { readonly kind: 'open'; readonly namespaceId: string }
  | { readonly kind: 'private'; readonly namespaceId: string; readonly until: number }
  | { readonly kind: 'refused'; readonly namespaceId: string | null; readonly until: number };

/** Looked up for a query without a token. It has the length of a token and cannot be one. */
const NO_TOKEN = '-'.repeat(56);

const PUBLIC: Access = { kind: 'public' };
const DEMO: Access = { kind: 'demo' };

/**
 * Decides whether a query may read its namespace (docs/PROTOCOL.md, private records). Each refusal reads the namespace
 * and one token, so its duration does not reveal the cause.
 */
export function checkAccess(query: Query, view: HostedView, settings: AccessSettings, now: number): Access {
  if (query.namespace === PUBLIC_NAMESPACE) return PUBLIC;
  const namespace = view.namespace(query.namespace);
  // A suspension overrides every other rule.
  const isSuspended = namespace?.suspended === true;
  if (!isSuspended && settings.sync && namespace?.publicRead === true) {
    return { kind: 'open', namespaceId: namespace.id };
  }
  const isDemo = DEMO_NAMESPACES.has(query.namespace);
  if (!isSuspended && isDemo && settings.demo) return DEMO;
  const token = view.token(queryTokenDigest(query.token ?? NO_TOKEN));
  const isAuthorised =
    !isSuspended &&
    !isDemo &&
    namespace !== null &&
    query.token !== null &&
    token?.namespace === query.namespace &&
    token.expiresAt > now;
  return isAuthorised
    ? { kind: 'private', namespaceId: namespace.id, until: token.expiresAt }
    : { kind: 'refused', namespaceId: namespace?.id ?? null, until: FOREVER };
}

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const EXPIRED: Outcome = { kind: 'empty', reason: 'expired', until: FOREVER };
const WITHHELD: Outcome = { kind: 'failed', cause: 'withheld' };

/** How a record may be read, and what the view knows where it has none. */
interface HostedReading {
  /** RR TTL in seconds, 0 for a private answer. A record that expires sooner has a shorter one. Asked where there is a record. */
  readonly maxTtl: () => number;
  /** Asked where the view has no record. */
  readonly hasExpired: () => boolean;
}

/**
 * The outcome for a stored record. An expired record is NODATA even before its erasure arrives. Why an answer is empty is for the query log
 * alone: both answers are the same octets.
 */
function hostedOutcome(
  record: ReturnType<HostedView['record']>,
  reading: HostedReading,
  now: number,
): Outcome {
  if (record === null) return reading.hasExpired() ? EXPIRED : MISSING;
  if (record === 'withheld') return WITHHELD;
  const { expiresAt } = record;
  if (expiresAt !== null && expiresAt <= now) return EXPIRED;
  const text = hostedEnvelope(record);
  return { kind: 'answer', text, ...countdown(expiresAt, reading.maxTtl(), now) };
}

/** The TTL and the time until which it holds: constant until `maxTtl` before the expiry, then one second each. 0 is always 0. */
function countdown(expiresAt: number | null, maxTtl: number, now: number): { ttl: number; until: number } {
  if (expiresAt === null) return { ttl: maxTtl, until: FOREVER };
  const ttl = Math.min(maxTtl, Math.floor((expiresAt - now) / 1000));
  return { ttl, until: Math.min(expiresAt, expiresAt - ttl * 1000 + 1) };
}

/** Records of every demo namespace: key without namespace, format, payload. */
const RECORDS: readonly (readonly [resource: string, version: string, format: string, payload: string])[] = [
  ['hello', 'v1', 'text', 'Hello from DNS.'],
  ['motd', 'v1', 'text', 'Records are written over REST and read from anything that can resolve a name.'],
  ['config', 'v1', 'json', '{"log_level":"info","region":"eu","retries":3}'],
  ['flags', 'v1', 'json', '{"new_checkout":true,"beta_banner":false}'],
  ['flags', 'v2', 'json', '{"new_checkout":true,"beta_banner":true,"rollout":0.25}'],
];

const BY_NAME: ReadonlyMap<string, HostedRecord> = new Map(
  RECORDS.map(([resource, version, format, payload]) => [
    `${resource} ${version}`,
    { data: Buffer.from(payload), plain: false, format, ttlSeconds: 300, expiresAt: null },
  ]),
);

function demoRecord(params: readonly string[], resource: string, version: string): HostedRecord | null {
  return params.length > 0 ? null : (BY_NAME.get(`${resource} ${version}`) ?? null);
}

/** At most 52 octets of head and 3,448 of Base64, or 54 and 2,586 of plain text. */
export function hostedEnvelope({ data, plain, format, ttlSeconds }: Omit<HostedRecord, 'expiresAt'>): Buffer {
  const head = envelopeHead(plain ? 'plain' : 'b64', format, ttlSeconds);
  if (plain) {
    const text = Buffer.allocUnsafe(head.length + data.length);
    text.write(head, 0, 'latin1');
    text.set(data, head.length);
    return text;
  }
  const base64Length = Math.ceil(data.length / 3) * 4;
  const text = Buffer.allocUnsafe(head.length + base64Length);
  text.write(head, 0, 'latin1');
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  text.write(bytes.toString('base64'), head.length, 'latin1');
  return text;
}
