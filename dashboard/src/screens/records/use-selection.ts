/** Selected records: rows of the table, or all that match its filter. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RecordFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { toast } from '../../ui/toast.tsx';
import { type RecordRow, rowOfRecord } from './record-pages.ts';

const PAGE = 500;

export interface SelectionHandle {
  readonly rows: readonly RecordRow[];
  readonly ids: ReadonlySet<string>;
  /** Rows that were read for all that match; null: it is not under way. */
  readonly read: number | null;
  /** @param loaded the rows of the table */
  readonly set: (ids: ReadonlySet<string>, loaded: readonly RecordRow[]) => void;
  readonly drop: (ids: ReadonlySet<string>) => void;
  readonly clear: () => void;
  /** Reads the whole list. */
  readonly selectAll: (filter: RecordFilter) => Promise<void>;
  /** Ends it; what was selected before stays. */
  readonly stop: () => void;
}

const NONE: ReadonlyMap<string, RecordRow> = new Map();

/** @param of the filter: what others hide is not selected any more */
export function useSelection(of: string): SelectionHandle {
  const [{ of: selectedIn, rows: kept }, setSelected] = useState({ of, rows: NONE });
  const [read, setRead] = useState<number | null>(null);
  const reading = useRef<AbortController | null>(null);
  const rows = selectedIn === of ? kept : NONE;
  const select = (next: ReadonlyMap<string, RecordRow>): void => setSelected({ of, rows: next });
  const stop = (): void => {
    reading.current?.abort();
    reading.current = null;
    setRead(null);
  };
  useEffect(() => stop, [of]);
  return {
    rows: [...rows.values()],
    ids: new Set(rows.keys()),
    read,
    set: (ids, loaded) => {
      const known = new Map([...rows, ...loaded.map((row) => [row.id, row] as const)]);
      select(new Map([...ids].flatMap((id) => (known.has(id) ? [[id, known.get(id)!]] : []))));
    },
    drop: (ids) => select(new Map([...rows].filter(([id]) => !ids.has(id)))),
    clear: () => select(NONE),
    selectAll: async (filter) => {
      if (reading.current !== null) return;
      const ending = new AbortController();
      reading.current = ending;
      setRead(0);
      const found = new Map<string, RecordRow>();
      try {
        for await (const { items } of api.records
          .list(filter, { limit: PAGE, signal: ending.signal })
          .pages()) {
          for (const record of items) found.set(record.id, rowOfRecord(record));
          setRead(found.size);
        }
        if (!ending.signal.aborted) select(found);
      } catch (error) {
        if (!ending.signal.aborted)
          toast(error instanceof Error ? error.message : String(error), { isError: true });
      }
      if (reading.current === ending) stop();
    },
    stop,
  };
}
