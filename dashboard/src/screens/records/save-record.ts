/** Writing one record, so that nobody's change is lost. */
import { ApiError, type RecordResource, type TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { asOwn } from '../../data/own-writes.ts';
import { storedFields } from './read-selected.ts';
import { changedFields, differences, type Editable, isConflict } from './three-way.ts';

/** A write that the server has answered. */
export interface Saved {
  readonly record: RecordResource;
  /** By performance.now(): when the request left and when its answer came. */
  readonly started: number;
  readonly answered: number;
  /** Its place in the feed; null: the server did not say it. */
  readonly seq: string | null;
}

export type EditResult =
  | { readonly kind: 'saved'; readonly saved: Saved }
  | { readonly kind: 'unchanged' }
  /** Somebody else changed it since it was opened: `theirs` is what it is now. */
  | { readonly kind: 'conflict'; readonly theirs: TaggedRecord };

export function editable(record: RecordResource): Editable {
  return { encoding: 'b64', ...storedFields(record) };
}

/** @param idempotencyKey the same for the same input: a second try after a lost answer makes no second record */
export async function createRecord(key: string, fields: Editable, idempotencyKey: string): Promise<Saved> {
  const started = performance.now();
  const place = noteSeq();
  const options = { idempotencyKey, onWritten: place.note };
  const record = await asOwn('record.upserted', [key], () => api.records.create(key, fields, options));
  return { record, started, answered: performance.now(), seq: place.seq() };
}

/**
 * Reads the record again, and writes only when nobody else has changed it since `base`.
 * @param base as the form was opened, or as the person last saw it
 */
export async function saveEdit(base: TaggedRecord, mine: Editable): Promise<EditResult> {
  const now = await api.records.get(base.id);
  if (now.etag !== base.etag && isConflict(differences(editable(base), mine, editable(now)))) {
    return { kind: 'conflict', theirs: now };
  }
  const fields = changedFields(editable(now), mine);
  if (fields.length === 0) return { kind: 'unchanged' };
  const started = performance.now();
  const place = noteSeq();
  try {
    const record = await asOwn('record.upserted', [now.key], () => write(now, mine, fields, place.note));
    return { kind: 'saved', saved: { record, started, answered: performance.now(), seq: place.seq() } };
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 412)) throw error;
    return { kind: 'conflict', theirs: await api.records.get(base.id) };
  }
}

async function write(
  now: TaggedRecord,
  mine: Editable,
  fields: readonly (keyof Editable)[],
  onWritten: (seq: string) => void,
): Promise<RecordResource> {
  if (fields.includes('content_type')) {
    // A PATCH cannot change the type. This write has no condition: it replaces what was read a moment ago.
    await api.records.put(now.key, mine, { onWritten });
    return await api.records.get(now.id);
  }
  const change = Object.fromEntries(fields.map((field) => [field, mine[field]]));
  return await api.records.update(now.id, change, { ifMatch: now.etag ?? undefined, onWritten });
}

/** Keeps the last place in the feed that a call was told. */
function noteSeq(): { readonly note: (seq: string) => void; readonly seq: () => string | null } {
  let last: string | null = null;
  return {
    note: (seq) => {
      last = seq;
    },
    seq: () => last,
  };
}
