import { ApiError, UqrpError } from '../http/errors.ts';
import type { Http, PostOptions } from '../http/http.ts';
import type { NewRecord } from '../requests.ts';
import type { BulkResult, BulkWritten } from '../resources.ts';

/** Items that the server takes in one bulk write. */
export const BULK_ITEMS = 500;

export interface BulkProgress {
  /** Items that the server has done. */
  readonly done: number;
  readonly total: number;
}

/** With an `idempotencyKey` request n has the key and `-n`, from 0: the same call, made again, does nothing a second time. */
export interface BulkOptions extends PostOptions {
  /** Called after each request. */
  readonly onProgress?: ((progress: BulkProgress) => void) | undefined;
}

/** A request of a bulk write failed. Each request is done as a whole or not at all; `done` is what those before did. */
export class BulkError extends UqrpError {
  override readonly name: string = 'BulkError';
  readonly done: BulkResult;
  /** Why. The places in messages of the API, such as `records[501].data`, count through the whole call. */
  readonly reason: unknown;

  constructor(done: BulkResult, reason: unknown) {
    const items = done.records.length + done.deleted.length;
    super(
      `The bulk write ended after ${items} items: ${reason instanceof UqrpError ? reason.message : 'aborted'}`,
    );
    this.done = done;
    this.reason = reason;
  }
}

interface Chunk {
  readonly records: readonly NewRecord[];
  readonly delete: readonly string[];
  /** Items of each list before those of this chunk. */
  readonly recordsBefore: number;
  readonly deletesBefore: number;
}

/** Deletes come after writes, in chunks of at most 500 items. */
export function chunksOf(records: readonly NewRecord[], keys: readonly string[]): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const total = records.length + keys.length;
  for (let at = 0; at < total; at += BULK_ITEMS) {
    const end = at + BULK_ITEMS;
    const recordsBefore = Math.min(at, records.length);
    const deletesBefore = Math.max(0, at - records.length);
    chunks.push({
      records: records.slice(recordsBefore, end),
      delete: keys.slice(deletesBefore, Math.max(0, end - records.length)),
      recordsBefore,
      deletesBefore,
    });
  }
  return chunks;
}

/** @throws TypeError for a key that occurs twice: the server refuses it only within one request */
function requireDistinct(records: readonly NewRecord[], keys: readonly string[]): void {
  const seen = new Set<string>();
  for (const key of [...records.map((record) => record.key), ...keys]) {
    const folded = key.toLowerCase();
    if (seen.has(folded)) throw new TypeError('a key occurs twice in one bulk write');
    seen.add(folded);
  }
}

/** @throws BulkError when a request fails */
export async function writeBulk(
  http: Http,
  records: readonly NewRecord[],
  keys: readonly string[],
  options: BulkOptions,
): Promise<BulkResult> {
  requireDistinct(records, keys);
  const total = records.length + keys.length;
  const written: BulkWritten[] = [];
  const deleted: (string | null)[] = [];
  const { idempotencyKey, ...call } = options;
  for (const [at, chunk] of chunksOf(records, keys).entries()) {
    try {
      const key = idempotencyKey === undefined ? undefined : `${idempotencyKey}-${at}`;
      const body = {
        ...(chunk.records.length > 0 && { records: chunk.records }),
        ...(chunk.delete.length > 0 && { delete: chunk.delete }),
      };
      const parts = { method: 'POST', path: '/records/bulk', body, ...call, idempotencyKey: key } as const;
      const answer = await http.json<BulkResult>(parts);
      written.push(...answer.body.records);
      deleted.push(...answer.body.deleted);
    } catch (error) {
      throw new BulkError({ records: written, deleted }, atWholeCall(error, chunk));
    }
    options.onProgress?.({ done: written.length + deleted.length, total });
  }
  return { records: written, deleted };
}

/** The error with the places in its messages counted through the whole call. */
function atWholeCall(error: unknown, { recordsBefore, deletesBefore }: Chunk): unknown {
  if (!(error instanceof ApiError)) return error;
  const messages = error.messages.map((message) =>
    message
      .replace(/^records\[(\d+)\]/, (_, at: string) => `records[${Number(at) + recordsBefore}]`)
      .replace(/^delete\[(\d+)\]/, (_, at: string) => `delete[${Number(at) + deletesBefore}]`),
  );
  const { status, code, requestId, retryAfter } = error;
  return new ApiError({ status, code, messages, requestId, retryAfter });
}
