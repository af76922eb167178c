/** Many writes as requests of up to 500 items, with progress, a stop, and a way to go on. */
import { ApiError, type NewRecord, UqrpError } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';

/** Items of one request: each is done as a whole or not at all, and counts as one write. */
export const BULK_STEP = 500;

export interface BulkRecord extends NewRecord {
  /** `updated_at` that the stored record must have; null: there must be none. Absent: whatever is there is replaced. */
  readonly if_updated_at?: string | null;
}

/** A record to write, or a key to delete. */
export interface BulkItem {
  readonly key: string;
  /** Null: delete the key. */
  readonly record: BulkRecord | null;
}

export type Outcome = { readonly kind: 'done' } | { readonly kind: 'refused'; readonly message: string };

export type Pause =
  | { readonly kind: 'done' }
  | { readonly kind: 'stopped' }
  /** No answer. Whether the last request was done is not known: going on repeats it with its key. */
  | { readonly kind: 'offline' }
  | { readonly kind: 'failed'; readonly error: ApiError };

export interface BulkProgress {
  readonly done: number;
  readonly refused: number;
  readonly total: number;
  /** Seconds until the next request, while the limit of writes is reached. */
  readonly waits: number | null;
}

export interface BulkPorts {
  readonly write: (
    items: readonly BulkItem[],
    idempotencyKey: string,
    signal: AbortSignal,
  ) => Promise<unknown>;
  /** Rejects when the signal aborts. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly show: (progress: BulkProgress) => void;
}

/** Where a job stands. It is used by one run at a time. */
export interface BulkJob {
  readonly id: string;
  readonly items: readonly BulkItem[];
  readonly outcomes: (Outcome | undefined)[];
  /** Items before this one have an outcome. */
  at: number;
}

/** @param id random: it makes the keys of the requests */
export function bulkJob(id: string, items: readonly BulkItem[]): BulkJob {
  return { id, items, outcomes: [], at: 0 };
}

/** How many requests a number of items takes. */
export function stepsOf(items: number): number {
  return Math.ceil(items / BULK_STEP);
}

/** Runs a job from where it stands. Returns why it ended; any end but `done` can be followed by another run. */
export async function runBulk(job: BulkJob, ports: BulkPorts, signal: AbortSignal): Promise<Pause> {
  const show = (waits: number | null): void => ports.show(progressOf(job, waits));
  show(null);
  while (job.at < job.items.length) {
    const end = Math.min(job.at + BULK_STEP, job.items.length);
    const open = range(job.at, end).filter((at) => job.outcomes[at] === undefined);
    try {
      signal.throwIfAborted();
      if (open.length > 0) {
        // The same request has the same key, also in a later run; without a refused item it is another request.
        const key = `${job.id}-${job.at}-${open.length}`;
        await ports.write(
          open.map((at) => job.items[at]!),
          key,
          signal,
        );
      }
      for (const at of open) job.outcomes[at] = { kind: 'done' };
      job.at = end;
      show(null);
    } catch (error) {
      if (signal.aborted) return { kind: 'stopped' };
      if (!(error instanceof ApiError)) {
        if (error instanceof UqrpError) return { kind: 'offline' };
        throw error;
      }
      const refusals = refusalsOf(error, open);
      for (const [at, message] of refusals) job.outcomes[at] = { kind: 'refused', message };
      if (error.status === 429) {
        const seconds = error.retryAfter ?? 1;
        show(seconds);
        try {
          await ports.wait(seconds * 1000, signal);
        } catch {
          return { kind: 'stopped' };
        }
      } else if (refusals.size === 0) return { kind: 'failed', error };
    }
  }
  return { kind: 'done' };
}

export function progressOf({ items, outcomes }: BulkJob, waits: number | null): BulkProgress {
  const refused = outcomes.filter((outcome) => outcome?.kind === 'refused').length;
  const done = outcomes.filter((outcome) => outcome?.kind === 'done').length;
  return { done, refused, total: items.length, waits };
}

/**
 * The faults of a 422 by item, and the first one of a 412. Messages name their place: `records[3].data is not strict Base64`.
 * @param open indexes of the items that were sent, in their order
 */
export function refusalsOf(error: ApiError, open: readonly number[]): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (error.status !== 422 && error.status !== 412) return found;
  for (const message of error.messages) {
    const place = /^(?:records|delete)\[(\d+)\]\.?\s*/.exec(message);
    const at = place === null ? undefined : open[Number(place[1])];
    if (place === null || at === undefined) continue;
    const rest = error.status === 412 ? t('records.bulkHasChanged') : message.slice(place[0].length);
    const before = found.get(at);
    found.set(at, before === undefined ? rest : `${before}; ${rest}`);
  }
  return found;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}
