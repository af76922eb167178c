import { LIMITS } from '../../base/limits.ts';

/** Private reads of one namespace that one node answered with data in one hour. */
export interface UsageCount {
  readonly namespaceId: string;
  /** Start of the hour, milliseconds since the epoch: a multiple of 3,600,000. */
  readonly hour: number;
  /** 1 to `LIMITS.usageAnswersMax`. */
  readonly answers: number;
}

/** Counts that a node sends together. No member can hold a name, parameter, token or address. */
export interface UsageBatch {
  /** Name of the node. */
  readonly node: string;
  /** Unique among the batches of the node: a batch that is sent again keeps its id. */
  readonly batch: string;
  /** 1 to `LIMITS.usageBatchCounts`. */
  readonly counts: readonly UsageCount[];
}

/** Takes the usage that nodes counted. Delivery is at least once: a sender repeats a batch until `add` resolves. */
export interface UsageSink {
  /**
   * Adds the counts to the hourly sums. A batch of a (node, batch) that was added before changes nothing.
   * @throws UsageFormatError for a batch out of bounds: nothing of it is added, and a repeat fails too
   */
  add(batch: UsageBatch): Promise<void>;
}

const USAGE_FIELDS = ['node', 'batch', 'counts', 'namespaceId', 'hour', 'answers'] as const;
type UsageField = (typeof USAGE_FIELDS)[number];

/** A batch that no repeat makes valid. It names the field, not the value. */
export class UsageFormatError extends Error {
  override readonly name = 'UsageFormatError';
  readonly field: UsageField;

  constructor(field: UsageField) {
    super(`usage batch: ${field} is out of bounds`);
    this.field = field;
  }
}

/** The error of a batch that another process refused. @param field that it named */
export function usageFormatError(field: unknown): UsageFormatError {
  return new UsageFormatError(USAGE_FIELDS.find((known) => known === field) ?? 'batch');
}

const HOUR_MS = 3_600_000;
const ID = /^[\w.:-]{1,64}$/;

/**
 * The sums of a batch: one for each namespace and hour, in order of both, so that two batches lock rows in one order.
 * @throws UsageFormatError
 */
export function sumsOf({ node, batch, counts }: UsageBatch): readonly UsageCount[] {
  check('node', ID.test(node));
  check('batch', ID.test(batch));
  check('counts', counts.length > 0 && counts.length <= LIMITS.usageBatchCounts);
  const sums = new Map<string, UsageCount>();
  for (const count of counts) {
    checkCount(count);
    const key = `${count.namespaceId} ${count.hour}`;
    const answers = count.answers + (sums.get(key)?.answers ?? 0);
    check('answers', answers <= LIMITS.usageAnswersMax);
    sums.set(key, { ...count, answers });
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

function checkCount({ namespaceId, hour, answers }: UsageCount): void {
  check('namespaceId', ID.test(namespaceId));
  check('hour', isInteger(hour, 0, LIMITS.expiresAtMax) && hour % HOUR_MS === 0);
  check('answers', isInteger(answers, 1, LIMITS.usageAnswersMax));
}

function isInteger(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

function check(field: UsageField, isValid: boolean): void {
  if (!isValid) throw new UsageFormatError(field);
}
