import { LIMITS } from '../../base/limits.ts';
import type { Transport } from '../../base/network/transport.ts';
import { AUTH_PREFIX, isLabel } from '../../protocol/names/labels.ts';
import { OPERATIONS, type QueryOperation } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';

declare const LOGGED_LABEL: unique symbol;

/** One label of an authorised query: its resource or its version. Only `loggedLabel` makes one. */
export type LoggedLabel = string & { readonly [LOGGED_LABEL]: true };

/** Queries over DNS-over-HTTPS are not recorded. */
export const LOGGED_TRANSPORTS = ['udp', 'tcp', 'dot'] as const satisfies readonly Transport[];
type LoggedTransport = (typeof LOGGED_TRANSPORTS)[number];

/** One query that a node answered. No member can hold a name, parameter, token or address. */
export interface QueryLogRow {
  /** When the node answered, milliseconds since the epoch. */
  readonly at: number;
  /** From the view. The node records queries only for namespaces that have an owner. */
  readonly namespaceId: string;
  /** Resource and version are both null for an unauthorised query: what strangers ask is not recorded. */
  readonly resource: LoggedLabel | null;
  readonly version: LoggedLabel | null;
  readonly operation: QueryOperation;
  /** 0 to 65,535. */
  readonly qtype: number;
  readonly status: QueryStatus;
  /** 0 to 4,095. */
  readonly rcode: number;
  readonly transport: LoggedTransport;
  /** Whole milliseconds that the node worked on it, 0 to `LIMITS.queryLogDurationMs`; 0 from the packet cache. */
  readonly durationMs: number;
}

/** Rows of one namespace that a node did not keep. */
interface DroppedRows {
  readonly namespaceId: string;
  /** At least 1. */
  readonly rows: number;
}

/** Rows that a node sends together. */
export interface QueryLogBatch {
  /** Name of the node. */
  readonly node: string;
  /** Unique among the batches of the node: a batch that is sent again keeps its id and its rows. */
  readonly batch: string;
  /** Up to `LIMITS.queryLogBatchRows`; may be empty when rows were dropped. */
  readonly rows: readonly QueryLogRow[];
  /**
   * Rows that the node dropped since its batch before, under load or while it could not send: each namespace once, at most
   * `LIMITS.queryLogBatchRows` of them.
   */
  readonly dropped: readonly DroppedRows[];
}

/** Takes the rows of nodes. Delivery is at least once: a sender repeats a batch until `add` resolves. */
export interface QueryLogSink {
  /**
   * Adds the rows. A batch of a (node, batch) that was added before changes nothing. Rows of a namespace that is
   * unknown or has no owner by now are left out without an error.
   * @throws QueryLogFormatError for a batch out of bounds: nothing of it is added, and a repeat fails too
   */
  add(batch: QueryLogBatch): Promise<void>;
}

const QUERY_LOG_FIELDS = [
  'node',
  'batch',
  'rows',
  'dropped',
  'at',
  'namespaceId',
  'resource',
  'version',
  'operation',
  'qtype',
  'status',
  'rcode',
  'transport',
  'durationMs',
] as const;
type QueryLogField = (typeof QUERY_LOG_FIELDS)[number];

/** A batch that no repeat makes valid. It names the field, not the value. */
export class QueryLogFormatError extends Error {
  override readonly name = 'QueryLogFormatError';
  readonly field: QueryLogField;

  constructor(field: QueryLogField) {
    super(`query log batch: ${field} is out of bounds`);
    this.field = field;
  }
}

/** The error of a batch that another process refused. @param field that it named */
export function queryLogFormatError(field: unknown): QueryLogFormatError {
  return new QueryLogFormatError(QUERY_LOG_FIELDS.find((known) => known === field) ?? 'batch');
}

const ID = /^[\w.:-]{1,64}$/;

/** @returns null for anything but one label in lower case, and for a label that could carry a token */
export function loggedLabel(text: string): LoggedLabel | null {
  return isLabel(text) && !text.startsWith(AUTH_PREFIX) ? (text as LoggedLabel) : null;
}

/** Ids and labels of a batch that were found valid: most rows have those of the row before. */
type Known = Set<string>;

/** Checks every field, for a sink: types end at the edge of a process. @throws QueryLogFormatError */
export function checkQueryLogBatch({ node, batch, rows, dropped }: QueryLogBatch): void {
  check('node', ID.test(node));
  check('batch', ID.test(batch));
  check('rows', rows.length <= LIMITS.queryLogBatchRows);
  check('dropped', dropped.length <= LIMITS.queryLogBatchRows);
  const [ids, labels]: [Known, Known] = [new Set(), new Set()];
  for (const { namespaceId, rows: lost } of dropped) {
    check('namespaceId', isId(namespaceId, ids));
    check('dropped', lost > 0 && isInteger(lost, Number.MAX_SAFE_INTEGER));
  }
  check('dropped', ids.size === dropped.length);
  for (const row of rows) checkRow(row, ids, labels);
}

function checkRow(row: QueryLogRow, ids: Known, labels: Known): void {
  check('at', isInteger(row.at, LIMITS.expiresAtMax));
  check('namespaceId', isId(row.namespaceId, ids));
  check('status', QUERY_STATUSES.includes(row.status));
  const isAuthorised = row.resource !== null;
  check('resource', row.resource === null || isLogged(row.resource, labels));
  check(
    'version',
    isAuthorised ? row.version !== null && isLogged(row.version, labels) : row.version === null,
  );
  check('resource', !isAuthorised || (row.status !== 'refused' && row.status !== 'error'));
  check('operation', OPERATIONS.includes(row.operation));
  check('qtype', isInteger(row.qtype, 0xffff));
  check('rcode', isInteger(row.rcode, 0xfff));
  check('transport', LOGGED_TRANSPORTS.includes(row.transport));
  check('durationMs', isInteger(row.durationMs, LIMITS.queryLogDurationMs));
}

function isId(text: string, known: Known): boolean {
  return known.has(text) || (ID.test(text) && known.add(text).has(text));
}

function isLogged(text: string, known: Known): boolean {
  return known.has(text) || (loggedLabel(text) !== null && known.add(text).has(text));
}

function isInteger(value: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= max;
}

function check(field: QueryLogField, isValid: boolean): void {
  if (!isValid) throw new QueryLogFormatError(field);
}
