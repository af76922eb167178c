/** Control's side of metering: takes batches of nodes into the sinks, and acknowledges them after the sinks' transaction. */
import { LIMITS } from '../../base/limits.ts';
import { QueryLogFormatError, type QueryLogSink } from '../ports/query-log.ts';
import {
  sumsOf,
  type UsageBatch,
  type UsageCount,
  UsageFormatError,
  type UsageSink,
} from '../ports/usage-sink.ts';
import type { Answer } from './answer.ts';
import { answerRequests, type ControlEnd, type OpenedRequest } from './control-end.ts';
import { queryLogBatchOf, usageBatchOf } from './meter-body.ts';

export interface MeterOptions {
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
  const { end, usage, queryLog } = options;
  return answerRequests(end, {
    kinds: ['usage', 'rows'],
    rate: RATE,
    atOnce: AT_ONCE,
    answer: (request) =>
      request.kind === 'usage'
        ? addUsage(request)
        : added(() => queryLog.add(queryLogBatchOf(request.body, request.node))),
  });

  async function addUsage({ body, node }: OpenedRequest): Promise<Answer> {
    return added(async () => {
      const batch = usageBatchOf(body, node);
      sumsOf(batch);
      const counts = await honest(batch, options);
      if (counts.length > 0) await usage.add({ ...batch, counts });
    });
  }
}

/** @throws what is neither a shape nor a value out of bounds */
async function added(add: () => Promise<void>): Promise<Answer> {
  try {
    await add();
    return { status: 'done', body: null };
  } catch (error) {
    const isBounds = error instanceof UsageFormatError || error instanceof QueryLogFormatError;
    if (!isBounds) throw error;
    return { status: 'invalid', body: error.field };
  }
}

/**
 * The counts that a node could have made. A node that lies can count too much in namespaces that exist, and nothing else: no rows for
 * namespaces or hours that it invents.
 */
async function honest(
  { counts }: UsageBatch,
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
