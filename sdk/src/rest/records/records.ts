import type { ProtectOptions } from '../../encryption/protect.ts';
import { ApiError, UqrpError } from '../http/errors.ts';
import type { Answer, CallOptions, Http, PostOptions } from '../http/http.ts';
import { Listing, nextCursor, type Page } from '../http/pages.ts';
import type {
  BulkCondition,
  BulkDeletion,
  NewBulkRecord,
  NewRecord,
  RecordFilter,
  RecordPatch,
} from '../requests.ts';
import type { BulkResult, BulkWritten, RecordFacets, RecordResource, VersionResource } from '../resources.ts';
import { type VersionListOptions, versionsAt } from '../versions.ts';
import { encodeValue, hasValue, type Value, withoutValue } from './value.ts';

/** Items that the server takes in one bulk write. */
const BULK_ITEMS = 500;

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

  override get isPassing(): boolean {
    return this.reason instanceof UqrpError && this.reason.isPassing;
  }
}

interface Chunk {
  readonly records: readonly NewBulkRecord[];
  readonly delete: readonly (string | BulkDeletion)[];
  /** Items of each list before those of this chunk. */
  readonly recordsBefore: number;
  readonly deletesBefore: number;
}

/** Deletes come after writes, in chunks of at most 500 items. */
function chunksOf(
  records: readonly NewBulkRecord[],
  deletions: readonly (string | BulkDeletion)[],
): readonly Chunk[] {
  const chunks: Chunk[] = [];
  const total = records.length + deletions.length;
  for (let at = 0; at < total; at += BULK_ITEMS) {
    const end = at + BULK_ITEMS;
    const recordsBefore = Math.min(at, records.length);
    const deletesBefore = Math.max(0, at - records.length);
    chunks.push({
      records: records.slice(recordsBefore, end),
      delete: deletions.slice(deletesBefore, Math.max(0, end - records.length)),
      recordsBefore,
      deletesBefore,
    });
  }
  return chunks;
}

const keyOf = (item: string | { readonly key: string }): string =>
  typeof item === 'string' ? item : item.key;

/** @throws TypeError for a key that occurs twice: the server refuses it only within one request */
function requireDistinct(
  records: readonly NewBulkRecord[],
  deletions: readonly (string | BulkDeletion)[],
): void {
  const seen = new Set<string>();
  for (const key of [...records, ...deletions].map(keyOf)) {
    const folded = key.toLowerCase();
    if (seen.has(folded)) throw new TypeError('a key occurs twice in one bulk write');
    seen.add(folded);
  }
}

/** @throws BulkError when a request fails */
export async function writeBulk(
  http: Http,
  records: readonly NewBulkRecord[],
  deletions: readonly (string | BulkDeletion)[],
  options: BulkOptions,
): Promise<BulkResult> {
  requireDistinct(records, deletions);
  const total = records.length + deletions.length;
  const written: BulkWritten[] = [];
  const deleted: (string | null)[] = [];
  const { idempotencyKey, ...call } = options;
  for (const [at, chunk] of chunksOf(records, deletions).entries()) {
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

/** A record as one request returns it, with the tag for `ifMatch`. */
export interface TaggedRecord extends RecordResource {
  readonly etag: string | null;
}

/** A value and the other fields of a record. `content_type` follows from the form of the value unless given. */
export type RecordValue = Value & Omit<NewRecord, 'key' | 'data'>;

/** Fields to change, and perhaps a new value. */
export type RecordChange = (Value | { readonly data?: undefined }) & Omit<RecordPatch, 'data'>;

export interface ConditionOptions extends CallOptions {
  /** `etag` of the record that you read: the call fails with 412 when the record has changed since. */
  readonly ifMatch?: string | undefined;
}

export interface DeleteOptions extends ConditionOptions {
  /** With all versions of its key. */
  readonly erase?: boolean | undefined;
}

/** With `encryptTo` or `signWith` the value has no content type of its own. */
export interface PutOptions extends PostOptions, ProtectOptions {}

export interface CreateOptions extends PostOptions {
  /** 412 in place of 422 when the key is taken. */
  readonly ifAbsent?: boolean | undefined;
}

export interface ListOptions extends CallOptions {
  /** Records for each request, 1 to 500. Default 100. */
  readonly limit?: number | undefined;
}

/** Items of a bulk write. */
export interface BulkItems {
  /** Written as a whole: existing records with these keys are replaced. */
  readonly put?: readonly (RecordValue & BulkCondition & { readonly key: string })[] | undefined;
  /** Keys, each perhaps with a condition. */
  readonly delete?: readonly (string | BulkDeletion)[] | undefined;
}

/** A page of `records.list`. */
export interface RecordPage extends Page<RecordResource> {
  /** What `q` was found to be. Null: there was no `q`, or nothing matches it. */
  readonly matchedBy: 'key_prefix' | 'resource' | 'namespace' | null;
}

const MATCHES = ['key_prefix', 'resource', 'namespace'] as const;

const PAGE = 100;
const MODIFY_TRIES = 5;

export class Records {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Records in the order of their namespaces and of their creation, or as `sort` says, read in pages while they are iterated. */
  list(filter: RecordFilter = {}, options: ListOptions = {}): Listing<RecordResource, RecordPage> {
    const { limit = PAGE, ...call } = options;
    return new Listing(async (cursor) => {
      const query = { ...filter, limit, cursor };
      const answer = await this.#http.json<RecordResource[]>({
        method: 'GET',
        path: '/records',
        query,
        ...call,
      });
      const matched = answer.headers.get('x-matched-by');
      const matchedBy = MATCHES.find((match) => match === matched) ?? null;
      return { items: answer.body, next: nextCursor(answer.headers), matchedBy };
    });
  }

  /** Counts records by resource and by namespace. */
  async facets(
    filter: Pick<RecordFilter, 'namespace'> = {},
    options: CallOptions = {},
  ): Promise<RecordFacets> {
    const query = { ...filter };
    const parts = { method: 'GET', path: '/records/facets', query, ...options } as const;
    return (await this.#http.json<RecordFacets>(parts)).body;
  }

  async get(id: string, options: CallOptions = {}): Promise<TaggedRecord> {
    return tagged(await this.#http.json({ method: 'GET', path: pathOf(id), ...options }));
  }

  /** The record with this key, or null. */
  async find(key: string, options: CallOptions = {}): Promise<RecordResource | null> {
    const query = { key };
    const { body } = await this.#http.json<RecordResource[]>({
      method: 'GET',
      path: '/records',
      query,
      ...options,
    });
    return body[0] ?? null;
  }

  /** Fails with 422 when the key is taken. `put` replaces instead. */
  async create(key: string, value: RecordValue, options: CreateOptions = {}): Promise<TaggedRecord> {
    const { ifAbsent = false, ...call } = options;
    const body = { record: newRecord(key, value) };
    const headers = ifAbsent ? { 'if-none-match': '*' } : {};
    return tagged(await this.#http.json({ method: 'POST', path: '/records', body, headers, ...call }));
  }

  /** Changes what is given, at least one field. The content type stays: `put` changes it. */
  async update(id: string, change: RecordChange, options: ConditionOptions = {}): Promise<TaggedRecord> {
    const fields = withoutValue(change);
    const record = hasValue(change) ? { ...fields, data: encodeValue(change).data } : fields;
    const { ifMatch, ...call } = options;
    const headers = condition(ifMatch);
    return tagged(
      await this.#http.json({ method: 'PATCH', path: pathOf(id), body: { record }, headers, ...call }),
    );
  }

  /**
   * Reads the record, changes it, and starts again when somebody else has changed it in between, at most 5 times.
   * @param change returns the change, or null for none
   */
  async modify(
    id: string,
    change: (record: TaggedRecord) => RecordChange | null | Promise<RecordChange | null>,
    options: CallOptions = {},
  ): Promise<TaggedRecord> {
    for (let tries = 1; ; tries += 1) {
      const record = await this.get(id, options);
      const wanted = await change(record);
      if (wanted === null) return record;
      if (record.etag === null) throw new UqrpError('The server sent no ETag, so a change would not be safe');
      try {
        return await this.update(id, wanted, { ...options, ifMatch: record.etag });
      } catch (error) {
        const isStale = error instanceof ApiError && error.status === 412;
        if (!isStale || tries >= MODIFY_TRIES) throw error;
      }
    }
  }

  /** Where the namespace keeps history the value stays as a version, unless with `erase`. */
  async delete(id: string, options: DeleteOptions = {}): Promise<void> {
    const { ifMatch, erase, ...call } = options;
    const query = { erase };
    await this.#http.json({
      method: 'DELETE',
      path: pathOf(id),
      query,
      headers: condition(ifMatch),
      ...call,
    });
  }

  /** The versions of a record, newest first, beginning with the present value; without data. */
  versions(id: string, options: VersionListOptions = {}): Listing<VersionResource> {
    return versionsAt(this.#http, `${pathOf(id)}/versions`, {}, options);
  }

  /** One version with its data. */
  async version(id: string, version: number, options: CallOptions = {}): Promise<VersionResource> {
    const path = `${pathOf(id)}/versions/${version}`;
    return (await this.#http.json<VersionResource>({ method: 'GET', path, ...options })).body;
  }

  /** Writes the value of a version again. For deleted records: `namespaces.restore`. */
  async restore(
    id: string,
    version: number,
    options: PostOptions & ConditionOptions = {},
  ): Promise<TaggedRecord> {
    const { ifMatch, ...call } = options;
    const path = `${pathOf(id)}/restore`;
    const headers = condition(ifMatch);
    return tagged(await this.#http.json({ method: 'POST', path, body: { version }, headers, ...call }));
  }

  /** Erases the versions of a record; its present value stays. */
  async eraseVersions(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: `${pathOf(id)}/versions`, ...options });
  }

  /** Creates the record, or replaces the one with this key as a whole. With `encryptTo` the server cannot read the value. */
  async put(key: string, value: RecordValue, options: PutOptions = {}): Promise<BulkWritten> {
    const { encryptTo, signWith, ...call } = options;
    const plain = newRecord(key, value);
    // The module of encryption is loaded when it is used first.
    const record =
      (encryptTo ?? signWith) === undefined
        ? plain
        : await (await import('../../encryption/protect.ts')).protectRecord(
            { encryptTo, signWith },
            plain,
            value,
          );
    const body = { records: [record] };
    const answer = await this.#http.json<BulkResult>({
      method: 'POST',
      path: '/records/bulk',
      body,
      ...call,
    });
    const [written] = answer.body.records;
    if (written === undefined) throw new UqrpError('The server did not say what it wrote');
    return written;
  }

  /**
   * Writes and deletes many records by key, in requests of up to 500 items. Each request is done as a whole or not at
   * all, and counts as one write against the limits.
   * @throws BulkError when a request fails; it says what those before it did
   */
  async bulk(items: BulkItems, options: BulkOptions = {}): Promise<BulkResult> {
    const records = (items.put ?? []).map(({ key, ...value }) => newRecord(key, value as RecordValue));
    return await writeBulk(this.#http, records, items.delete ?? [], options);
  }
}

function newRecord(key: string, value: RecordValue & BulkCondition): NewBulkRecord {
  const { content_type, ...rest } = withoutValue(value);
  const encoded = encodeValue(value);
  // With `data` the caller may leave the content type to the server.
  const type = content_type ?? ('data' in value ? undefined : encoded.content_type);
  return { key, data: encoded.data, ...rest, ...(type !== undefined && { content_type: type }) };
}

function tagged({ body, headers }: Answer<RecordResource>): TaggedRecord {
  return { ...body, etag: headers.get('etag') };
}

function condition(ifMatch: string | undefined): Record<string, string> {
  return ifMatch === undefined ? {} : { 'if-match': ifMatch };
}

function pathOf(id: string): string {
  return `/records/${encodeURIComponent(id)}`;
}
