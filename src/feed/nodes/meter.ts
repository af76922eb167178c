/** Control's side of metering: takes batches of nodes into the sinks, and acknowledges them after the sinks' transaction. */
import { LIMITS } from '../../base/limits.ts';
import { answerQuestions, type ControlEnd, doneBody, type Rpc } from '../message/rpc.ts';
import {
  checkQueryLogBatch,
  type QueryLogBatch,
  QueryLogFormatError,
  type QueryLogRow,
  type QueryLogSink,
  queryLogFormatError,
} from '../ports/query-log.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import {
  sumsOf,
  type UsageBatch,
  type UsageCount,
  UsageFormatError,
  type UsageSink,
  usageFormatError,
} from '../ports/usage-sink.ts';

interface MeterOptions {
  readonly end: ControlEnd;
  readonly usage: UsageSink;
  readonly queryLog: QueryLogSink;
  /** Those of the namespaces that exist. */
  readonly existing: (namespaceIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Answers of a node that were not added: of no namespace, or of an hour that is none of the present. */
  readonly onLeftOut?: (answers: number) => void;
}

/** A node sends at most one batch of rows a second, and after an outage up to a hundred of usage. */
const RATE = { perSecond: 20, burst: 120 } as const;
/** Transactions of batches. */
const AT_ONCE = 64;
/**
 * How old a count may be. Ids of batches are kept for longer (`usageBatchDays`): a batch with only later counts was not added
 * before the id of its first delivery would still be known.
 */
const OLDEST_MS = LIMITS.usageSpoolDays * 86_400_000;
/** A node's clock may be ahead by this. */
const AHEAD_MS = 2 * 3_600_000;

/** @returns ends it */
export function startMeter(options: MeterOptions): () => void {
  const { end, queryLog } = options;
  return answerQuestions(end, {
    kinds: ['usage', 'rows'],
    rate: RATE,
    atOnce: { all: AT_ONCE },
    async answer({ kind, body, node }) {
      try {
        if (kind === 'usage') await addUsage(usageBatchOf(body, node), options);
        else await queryLog.add(queryLogBatchOf(body, node));
        return {};
      } catch (error) {
        const isBounds = error instanceof UsageFormatError || error instanceof QueryLogFormatError;
        if (!isBounds) throw error;
        return { status: 'invalid', json: error.field };
      }
    },
  });
}

async function addUsage(batch: UsageBatch, options: MeterOptions): Promise<void> {
  const counts = await honest(sumsOf(batch), options);
  if (counts.length > 0) await options.usage.add({ ...batch, counts });
}

/**
 * The counts that a node could have made. A node that lies can count too much in namespaces that exist, and nothing else: no rows for
 * namespaces or hours that it invents.
 */
async function honest(
  counts: readonly UsageCount[],
  { end, existing, onLeftOut }: MeterOptions,
): Promise<UsageCount[]> {
  const known = await existing([...new Set(counts.map(({ namespaceId }) => namespaceId))]);
  const now = end.clock();
  const isPresent = ({ hour }: UsageCount): boolean => hour >= now - OLDEST_MS && hour <= now + AHEAD_MS;
  const kept = counts.filter((count) => known.has(count.namespaceId) && isPresent(count));
  const all = answersOf(counts);
  if (kept.length < counts.length) onLeftOut?.(all - answersOf(kept));
  return kept;
}

function answersOf(counts: readonly UsageCount[]): number {
  return counts.reduce((sum, { answers }) => sum + answers, 0);
}

/** The sinks of a node without a database: batches go to control, which acknowledges them after its transaction. */

/** Milliseconds until the sender repeats the batch. Control's transaction takes a few. */
const ACK_MS = 5_000;

/** The node of a batch is not sent: control takes the name that signed the question. */
export function busUsageSink(rpc: Pick<Rpc, 'ask'>): UsageSink {
  return {
    async add(batch) {
      const answer = await rpc.ask('usage', usageBody({ ...batch, counts: sumsOf(batch) }), ACK_MS);
      if (answer.status === 'invalid') throw usageFormatError(answer.body);
      doneBody(answer);
    },
  };
}

/** As `busUsageSink`. */
export function busQueryLogSink(rpc: Pick<Rpc, 'ask'>): QueryLogSink {
  return {
    async add(batch) {
      checkQueryLogBatch(batch);
      const answer = await rpc.ask('rows', queryLogBody(batch), ACK_MS);
      if (answer.status === 'invalid') throw queryLogFormatError(answer.body);
      doneBody(answer);
    },
  };
}

/** Batches of usage and of the query log as bodies of requests: lists without names of members, and without the name of the node. */

type Sent<Batch> = Omit<Batch, 'node'>;

function usageBody({ batch, counts }: Sent<UsageBatch>): unknown {
  return [batch, counts.map(({ namespaceId, hour, answers }) => [namespaceId, hour, answers])];
}

/**
 * @param node that signed the request: a body cannot name another
 * @throws FeedRefusedError `format` for another shape; the sink checks the values
 */
function usageBatchOf(body: unknown, node: string): UsageBatch {
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

function queryLogBody({ batch, rows, dropped }: Sent<QueryLogBatch>): unknown {
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
function queryLogBatchOf(body: unknown, node: string): QueryLogBatch {
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
