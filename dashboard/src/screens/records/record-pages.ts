/** The list of records: pages that are read as the table needs them, and what this page has written since. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RecordPage as ListedPage, RecordFilter, RecordResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { retryAt } from '../../data/retry.ts';
import { base64Octets } from './record-rules.ts';
import { previewOf, type ValuePreview } from './record-value.ts';

/** A row, with the beginning of its data alone: 50,000 of them are kept. */
export interface RecordRow {
  readonly id: string;
  readonly key: string;
  readonly namespace: string;
  readonly resource: string;
  readonly type: string;
  readonly value: ValuePreview;
  readonly octets: number;
  readonly ttl: number;
  readonly expiresAt: string | null;
  readonly updatedAt: string;
}

/** The first page is short, so that it is there soon. */
const FIRST = 100;
const FOLLOWING = 500;

export function rowOfRecord(record: RecordResource): RecordRow {
  return {
    id: record.id,
    key: record.key,
    namespace: record.namespace,
    resource: record.resource,
    type: record.content_type,
    value: previewOf(record.data ?? '', record.content_type),
    octets: base64Octets(record.data ?? ''),
    ttl: record.ttl_seconds,
    expiresAt: record.expires_at,
    updatedAt: record.updated_at,
  };
}

interface PageOfRows {
  readonly rows: readonly RecordRow[];
  readonly next: string | null;
  /** What the search was found to be. */
  readonly matchedBy: ListedPage['matchedBy'];
}

/** Pages after the first, of one filter and of one end of the first page. */
interface Tail extends Omit<PageOfRows, 'matchedBy'> {
  readonly after: string;
}

/** What was written here since the pages were read. */
interface Overlay {
  readonly of: string;
  readonly written: ReadonlyMap<string, RecordRow>;
  readonly deleted: ReadonlySet<string>;
}

export interface RecordPages {
  readonly state: 'loading' | 'ready' | 'failed';
  /** Of the first page, or of a following one. */
  readonly error: unknown;
  readonly rows: readonly RecordRow[];
  /** Whether the rows are all there are. */
  readonly isWhole: boolean;
  readonly isReadingMore: boolean;
  /** What the search was found to be; null: nothing, or there is none. */
  readonly matchedBy: ListedPage['matchedBy'];
  /** Reads the next page, unless it is being read. */
  readonly more: (() => void) | undefined;
  readonly again: () => void;
  /** Reads the first page again, unless more follow: their rows would move. */
  readonly readAgain: () => void;
  /** Begins anew, with the first page. */
  readonly restart: () => void;
  /** A record was read again, because somebody else has changed it. */
  readonly noteRead: (record: RecordResource) => void;
  readonly noteWritten: (record: RecordResource) => void;
  readonly noteDeleted: (ids: Iterable<string>) => void;
}

/** @param filter null: nothing can match what is typed */
export function useRecordPages(filter: RecordFilter | null): RecordPages {
  const key = `records ${JSON.stringify(filter)}`;
  const read = useCallback(
    async (cursor: string | null, limit: number, signal: AbortSignal): Promise<PageOfRows> => {
      if (filter === null) return { rows: [], next: null, matchedBy: null };
      const { items, next, matchedBy } = await api.records.list(filter ?? {}, { limit, signal }).page(cursor);
      return { rows: items.map(rowOfRecord), next, matchedBy };
    },
    [key],
  );
  const first = useResource(key, (signal) => read(null, FIRST, signal));
  const cursor = first.value?.next ?? null;
  const [tail, setTail] = useState<Tail | null>(null);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [overlay, setOverlay] = useState<Overlay>(nothingFor(key));
  const held = tail !== null && cursor !== null && tail.after === key + cursor ? tail : null;
  const next = held === null ? cursor : held.next;
  const [isReadingMore, setReading] = useState(false);
  const reading = useRef<AbortController | null>(null);
  const latest = useRef(held);
  latest.current = held;

  useEffect(
    () => () => {
      reading.current?.abort();
      reading.current = null;
      setReading(false);
      setFailure(undefined);
    },
    [key, cursor],
  );

  const more = useCallback(() => {
    if (next === null || reading.current !== null) return;
    const ending = new AbortController();
    reading.current = ending;
    setReading(true);
    const attempt = (failures: number): void => {
      read(next, FOLLOWING, ending.signal).then(
        (page) => {
          if (ending.signal.aborted) return;
          reading.current = null;
          setReading(false);
          setFailure(undefined);
          setTail({
            after: key + cursor,
            rows: [...(latest.current?.rows ?? []), ...page.rows],
            next: page.next,
          });
        },
        (error: unknown) => {
          if (ending.signal.aborted) return;
          setFailure(error);
          const { waitMs } = retryAt(error, failures + 1);
          if (waitMs !== null) setTimeout(() => attempt(failures + 1), waitMs);
          else {
            reading.current = null;
            setReading(false);
          }
        },
      );
    };
    attempt(0);
  }, [next, key, cursor, read]);

  const own = overlay.of === key ? overlay : nothingFor(key);
  const rows = useMemo(
    () => rowsOf(first.value?.rows ?? [], held?.rows ?? [], own),
    [first.value, held?.rows, own],
  );
  // A longer list stays as it is: reading its first page again could move what the reader looks at.
  const readAgain = (): void => {
    if (held === null) first.again();
  };
  const noted = (record: RecordResource) => (now: Overlay) => ({
    ...now,
    written: new Map(now.written).set(record.id, rowOfRecord(record)),
  });
  const note = (next: (own: Overlay) => Overlay): void =>
    setOverlay((now) => next(now.of === key ? now : nothingFor(key)));
  // An undo may come after the page was drawn again: it adds to what is noted by then.
  const changed = (next: (own: Overlay) => Overlay): void => {
    note(next);
    invalidate('namespaces');
    invalidate('me');
    readAgain();
  };
  return {
    state: first.state,
    error: failure ?? first.error,
    rows,
    isWhole: first.state === 'ready' && next === null,
    isReadingMore,
    matchedBy: first.value?.matchedBy ?? null,
    more: next === null || first.state !== 'ready' ? undefined : more,
    again: first.again,
    readAgain,
    restart: () => {
      setTail(null);
      setOverlay(nothingFor(key));
      first.again();
    },
    noteRead: (record) => note(noted(record)),
    noteWritten: (record) => changed(noted(record)),
    noteDeleted: (ids) => changed((now) => ({ ...now, deleted: new Set([...now.deleted, ...ids]) })),
  };
}

function nothingFor(key: string): Overlay {
  return { of: key, written: new Map(), deleted: new Set() };
}

/** New records come first: their place in the order may not be loaded yet. */
function rowsOf(
  first: readonly RecordRow[],
  tail: readonly RecordRow[],
  { written, deleted }: Overlay,
): readonly RecordRow[] {
  if (written.size === 0 && deleted.size === 0 && tail.length === 0) return first;
  const seen = new Set<string>();
  const rows: RecordRow[] = [];
  for (const row of [...first, ...tail]) {
    if (seen.has(row.id) || deleted.has(row.id)) continue;
    seen.add(row.id);
    rows.push(newer(row, written.get(row.id)));
  }
  const fresh = [...written.values()].filter(({ id }) => !seen.has(id) && !deleted.has(id)).reverse();
  return fresh.length === 0 ? rows : [...fresh, ...rows];
}

function newer(row: RecordRow, written: RecordRow | undefined): RecordRow {
  return written !== undefined && written.updatedAt > row.updatedAt ? written : row;
}
