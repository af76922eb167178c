/** The records that a page shows, kept up to date: what others change is read again and marked. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, type ChangeResource, type RecordFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useFeed } from '../../data/feed.ts';
import { ownership } from '../../data/own-writes.ts';
import { invalidate } from '../../data/resource.ts';
import { type LiveMarks, withChanges } from './live-marks.ts';
import { keepsKey } from './record-filters.ts';
import type { RecordPages } from './record-pages.ts';
import { keyParts } from './record-rules.ts';

/** Milliseconds between two readings of changed records, however fast they change. */
const PAUSE_MS = 1000;
/** Up to so many are read one by one; for more the list is read again. */
const SINGLY = 10;
const NONE: LiveMarks = new Map();

export interface LiveRecords {
  readonly marks: LiveMarks;
  /** Takes away one mark, or all of them. */
  readonly forget: (key?: string) => void;
}

/** @param namespace whose changes are followed; null: of all */
export function useLiveRecords(
  namespace: string | null,
  filter: RecordFilter,
  pages: RecordPages,
): LiveRecords {
  const of = JSON.stringify(filter);
  const [{ of: markedFor, marks }, setMarks] = useState({ of, marks: NONE });
  const latest = useRef({ filter, pages, of });
  latest.current = { filter, pages, of };
  const changed = useRef(new Set<string>());
  const hasGap = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );

  const readChanged = async (): Promise<void> => {
    const { pages: now } = latest.current;
    // Its count of records.
    invalidate('namespaces');
    const keys = changed.current;
    changed.current = new Set();
    const rows = now.rows.filter(({ key }) => keys.has(key));
    if (hasGap.current || rows.length < keys.size || rows.length > SINGLY) now.readAgain();
    if (hasGap.current || rows.length > SINGLY) {
      hasGap.current = false;
      return;
    }
    for (const { id } of rows) {
      try {
        latest.current.pages.noteRead(await api.records.get(id));
      } catch (error) {
        // It is gone by now, which the feed says too; a reading that fails otherwise is made up for by the next.
        if (!(error instanceof ApiError)) return;
      }
    }
  };

  const readSoon = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      void readChanged();
    }, PAUSE_MS);
  };

  const onChanges = (changes: readonly ChangeResource[]): void => {
    const { filter: wanted, pages: now, of: current } = latest.current;
    const shown = new Map(now.rows.map((row) => [row.key, row]));
    const fits = (key: string): boolean => {
      const { namespace: name, resource } = keyParts(key);
      return keepsKey(wanted, key, name, resource);
    };
    const isOwn = (change: ChangeResource): boolean => ownership(change) !== 'none';
    const rules = { isShown: (key: string) => shown.has(key), fits, isOwn };
    setMarks((before) => ({
      of: current,
      marks: withChanges(before.of === current ? before.marks : NONE, changes, rules),
    }));
    for (const change of changes) {
      const { event, key } = change;
      if (key === undefined || ownership(change) === 'sure') continue;
      const row = shown.get(key);
      if (event !== 'record.upserted') changed.current.delete(key);
      else if (row !== undefined || fits(key)) changed.current.add(key);
      if (event === 'record.upserted' && row !== undefined) invalidate(`record ${row.id}`);
    }
    readSoon();
  };
  const onGap = (): void => {
    hasGap.current = true;
    readSoon();
  };
  useFeed(namespace, { onChanges, onGap });
  return {
    marks: markedFor === of ? marks : NONE,
    forget: (key) =>
      setMarks((now) => ({
        ...now,
        marks: key === undefined ? NONE : new Map([...now.marks].filter(([other]) => other !== key)),
      })),
  };
}
