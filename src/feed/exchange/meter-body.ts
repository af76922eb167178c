/** Batches of usage and of the query log as bodies of requests: lists without names of members, and without the name of the node. */
import { LIMITS } from '../../base/limits.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import type { QueryLogBatch, QueryLogRow } from '../ports/query-log.ts';
import type { UsageBatch } from '../ports/usage-sink.ts';

type Sent<Batch> = Omit<Batch, 'node'>;

export function usageBody({ batch, counts }: Sent<UsageBatch>): unknown {
  return [batch, counts.map(({ namespaceId, hour, answers }) => [namespaceId, hour, answers])];
}

/**
 * @param node that signed the request: a body cannot name another
 * @throws FeedRefusedError `format` for another shape; the sink checks the values
 */
export function usageBatchOf(body: unknown, node: string): UsageBatch {
  const [batch, counts] = listOf(body, 2);
  return {
    node,
    batch: textOf(batch),
    counts: rowsOf(counts, LIMITS.usageBatchCounts, 3).map(([namespaceId, hour, answers]) => ({
      namespaceId: textOf(namespaceId),
      hour: numberOf(hour),
      answers: numberOf(answers),
    })),
  };
}

export function queryLogBody({ batch, rows, dropped }: Sent<QueryLogBatch>): unknown {
  return [
    batch,
    rows.map((row) => [
      row.at,
      row.namespaceId,
      row.resource,
      row.version,
      row.operation,
      row.qtype,
      row.status,
      row.rcode,
      row.transport,
      row.durationMs,
    ]),
    dropped.map(({ namespaceId, rows: count }) => [namespaceId, count]),
  ];
}

/**
 * @param node that signed the request: a body cannot name another
 * @throws FeedRefusedError `format` for another shape; the sink checks the values
 */
export function queryLogBatchOf(body: unknown, node: string): QueryLogBatch {
  const [batch, rows, dropped] = listOf(body, 3);
  return {
    node,
    batch: textOf(batch),
    rows: rowsOf(rows, LIMITS.queryLogBatchRows, 10).map(rowOf),
    dropped: rowsOf(dropped, LIMITS.queryLogBatchRows, 2).map(([namespaceId, count]) => ({
      namespaceId: textOf(namespaceId),
      rows: numberOf(count),
    })),
  };
}

function rowOf(values: readonly unknown[]): QueryLogRow {
  const [at, namespaceId, resource, version, operation, qtype, status, rcode, transport, durationMs] = values;
  const row = {
    at: numberOf(at),
    namespaceId: textOf(namespaceId),
    resource: resource === null ? null : textOf(resource),
    version: version === null ? null : textOf(version),
    operation: textOf(operation),
    qtype: numberOf(qtype),
    status: textOf(status),
    rcode: numberOf(rcode),
    transport: textOf(transport),
    durationMs: numberOf(durationMs),
  };
  // Types of values are right; `checkQueryLogBatch` of the sink compares them with the closed lists.
  return row as QueryLogRow;
}

function rowsOf(value: unknown, max: number, members: number): (readonly unknown[])[] {
  const rows = Array.isArray(value) && value.length <= max ? (value as unknown[]) : null;
  if (rows === null) throw new FeedRefusedError('format');
  return rows.map((row) => listOf(row, members));
}

function listOf(value: unknown, members: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length !== members) throw new FeedRefusedError('format');
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new FeedRefusedError('format');
  return value;
}

function numberOf(value: unknown): number {
  if (typeof value !== 'number') throw new FeedRefusedError('format');
  return value;
}
