/** The table operation -> handler. Checks, answers, NSEC and `GET /schema` share it, so that they cannot disagree. */

import { LIMITS } from '../../base/limits.ts';
import { keyTxt } from '../../protocol/datasets/attestation.ts';
import { identityTxt, SETTLED_MS, type Selection, selectWindow } from '../../protocol/datasets/item.ts';
import { checkpointTxt, proofTxt } from '../../protocol/datasets/log-txt.ts';
import { manifestTxt } from '../../protocol/datasets/manifest.ts';
import { type DatasetQuery, mayNameLog, parseDatasetQuery } from '../../protocol/datasets/query.ts';
import { DATASETS_RESOURCE, PUBLIC_NAMESPACE, PUBLIC_VERSION } from '../../protocol/names/labels.ts';
import { OPERATIONS, type Query, type QueryOperation } from '../../protocol/names/query-name.ts';
import type { EnvelopeErrorCode } from '../../protocol/query/envelope.ts';
import { FOREVER, type MalformedCause, type Outcome } from '../../protocol/query/outcome.ts';
import type { DatasetView } from '../../view/view.ts';

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
    need: Need,
  ) => Outcome | Promise<Outcome>;
}

/** What a question needs of a name: the text of its TXT record, or only whether there is one. */
export type Need = 'text' | 'presence';

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
  answer: (service, query, now, zone, need) =>
    (need === 'presence' ? service.presence?.(query, now, zone) : undefined) ??
    service.answer(query, now, zone),
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

const TABLE: Readonly<Record<QueryOperation, OperationRow>> = {
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
  operation: QueryOperation,
  resource: string,
  services: ReadonlyMap<string, T>,
): T | undefined {
  return services.get(serviceLabel(operation, resource));
}

/** The key in `Services` of what answers an operation. */
export function serviceLabel(operation: QueryOperation, resource: string): string {
  return TABLE[operation].serviceLabel(resource);
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
  need: Need,
): Outcome | Promise<Outcome> {
  const row = TABLE[query.operation];
  const service = selectService(query.operation, query.resource, services);
  if (service === undefined) return row.unserved;
  if (query.version !== PUBLIC_VERSION) return MISSING;
  try {
    const outcome = row.answer(service, query, now, zone, need);
    return outcome instanceof Promise ? outcome.catch(() => INTERNAL) : outcome;
  } catch {
    return INTERNAL;
  }
}

/** A public service. It learns nothing about the client, so its answer depends on the name alone. */
export interface PublicService {
  readonly resource: string;
  /** Signatures that take about as long as computing an answer. */
  readonly work?: number;
  /** The schema, for `info.<resource>`. `zone` appears in the names of its text. */
  info(zone: string): Outcome;
  /** Called for every operation except `info`. */
  answer(query: Query, now: number, zone: string): Outcome | Promise<Outcome>;
  /** As `answer`, but no provider is asked, and a text that only a provider knows is empty. Absent: `answer` asks none. */
  presence?(query: Query, now: number, zone: string): Outcome | Promise<Outcome>;
}

export interface DatasetSettings {
  /** Whether identity queries may name an instant. */
  readonly asOf: boolean;
  /** Whether names of the transparency log are answered. There is one when the view has its checkpoint. */
  readonly log: boolean;
}

/** Seconds, of manifests, public keys, and proofs, which never change. */
const MANIFEST_TTL = 3600;
/** Seconds. */
const CHECKPOINT_TTL = 60;

/** The dataset registry as a service of `public.v1`; denial follows from the same outcome. It has no schema: `info.datasets` is refused. */
export function datasetService(view: DatasetView, settings: DatasetSettings): PublicService {
  return {
    resource: DATASETS_RESOURCE,
    info: () => REFUSED,
    answer({ operation, params }, now) {
      if (operation !== 'manifest' && operation !== 'identity') return REFUSED;
      const { asOf } = settings;
      if (settings.log && mayNameLog(operation, params)) {
        const outcome = answerOf(parseDatasetQuery(operation, params, { asOf, log: true }), view, now);
        if (outcome.kind === 'answer' || view.checkpoint() !== null) return outcome;
        // There is no log: the name means what it means without one.
      }
      return answerOf(parseDatasetQuery(operation, params, { asOf, log: false }), view, now);
    },
  };
}

function answerOf(asked: DatasetQuery, view: DatasetView, now: number): Outcome {
  switch (asked.kind) {
    case 'malformed':
      return { kind: 'malformed', code: 'E005', cause: asked.cause };
    case 'manifest': {
      const manifest = view.manifest(asked.slug, asked.version);
      return manifest === null ? MISSING : lasting([manifestTxt(manifest)]);
    }
    case 'keys':
      return lasting(view.keys().map(keyTxt));
    case 'proof': {
      const { slug, version } = asked;
      const found = view.proof(slug, version);
      return found === null
        ? MISSING
        : fitting(proofTxt({ slug, version: found.version }, found.base64), MANIFEST_TTL);
    }
    case 'checkpoint': {
      const checkpoint = view.checkpoint();
      return checkpoint === null ? MISSING : fitting(checkpointTxt(checkpoint), CHECKPOINT_TTL);
    }
    case 'identity': {
      const { slug, item, asOf } = asked;
      const selection = selectWindow(view.identity(slug, item), asOf, now);
      if (selection.kind === 'none') return { kind: 'empty', reason: 'missing', until: endOf(selection) };
      const text = Buffer.from(identityTxt(slug, { ...selection.window, item }));
      return { kind: 'answer', text, ttl: selection.ttl, until: answerEnd(selection, now) };
    }
  }
}

/** An answer that only a change makes untrue; one TXT record for each text. */
function lasting(texts: readonly string[]): Outcome {
  const [text, ...more] = texts.map((each) => Buffer.from(each));
  if (text === undefined) return MISSING;
  return { kind: 'answer', text, more, ttl: MANIFEST_TTL, until: FOREVER };
}

/** Control cuts what it sends to nodes. A text that is still too long for DNS is one that DNS does not have. */
function fitting(text: string, ttl: number): Outcome {
  const octets = Buffer.from(text);
  return octets.length > LIMITS.txtValue ? MISSING : { kind: 'answer', text: octets, ttl, until: FOREVER };
}

/** The millisecond at which time alone may select another window. */
function endOf({ until }: { readonly until: number | null }): number {
  return until === null ? FOREVER : until * 1000;
}

/**
 * A kept answer has one TTL: it is made again when that would reach past the end of its window, and when the window has
 * settled, since the TTL grows then.
 */
function answerEnd(
  selection: Extract<Selection<{ from: number | null; to: number | null }>, { kind: 'window' }>,
  now: number,
): number {
  const { to } = selection.window;
  const end = endOf(selection);
  if (to === null) return end;
  const change = to * 1000 > now ? to * 1000 - selection.ttl * 1000 : to * 1000 + SETTLED_MS;
  return change < now ? end : Math.min(end, change + 1);
}
