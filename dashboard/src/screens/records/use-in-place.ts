/** Values of records, changed in their places in the list. Several may be: one is being saved, or was refused, and the person is at the next. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bytesOf, type TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { askBeforeLeaving } from '../../app/router.ts';
import { t } from '../../text/text.ts';
import { describeError } from '../../ui/describe-error.ts';
import { toast } from '../../ui/toast.tsx';
import type { Arrival } from './arrival.ts';
import { utf8 } from './payload.ts';
import type { RecordRow } from './record-pages.ts';
import { textToBase64 } from './record-rules.ts';
import { editable, type Saved, saveEdit } from './save-record.ts';
import type { Editable } from './three-way.ts';
import type { InPlace } from './value-cell.tsx';

type Row = Pick<RecordRow, 'id' | 'key'>;

interface Editing {
  readonly row: Row;
  /** The value that the field began with. */
  readonly shown: string;
  /** The record as it was then, which may be still on its way: who begins to type must not wait for it. */
  readonly base: Promise<TaggedRecord>;
  readonly typed: string;
  readonly state: 'open' | 'saving' | 'saved';
  readonly takesFocus: boolean;
}

export interface InPlacePorts {
  readonly onSaved: (saved: Saved) => void;
  /** Somebody else has changed it meanwhile. */
  readonly onConflict: (base: TaggedRecord, mine: Editable, theirs: TaggedRecord) => void;
}

export interface InPlaceHandle {
  /** By the ids of their records. */
  readonly inPlace: ReadonlyMap<string, InPlace>;
  /** What was typed and is not saved stays, in this field and in others. */
  readonly start: (row: Row, shown: string, base: Promise<TaggedRecord>) => void;
  /** Of a record that is gone. */
  readonly end: (id: string) => void;
}

/** The value where it is one line of text, else null. */
export function lineOf(record: TaggedRecord): string | null {
  const text = utf8(bytesOf(record));
  return text === null || /[\r\n\0]/.test(text) ? null : text;
}

function isChanged({ typed, shown }: Editing): boolean {
  return typed !== shown;
}

function isUnsaved(one: Editing): boolean {
  return one.state === 'saving' || (one.state === 'open' && isChanged(one));
}

/** @param arrival of the last write, and of which record it is */
export function useInPlace(
  arrival: { readonly id: string; readonly now: Arrival } | null,
  ports: InPlacePorts,
): InPlaceHandle {
  const [all, setAll] = useState<ReadonlyMap<string, Editing>>(new Map());
  const latest = useRef(ports);
  latest.current = ports;
  /** @param change null ends it */
  const update = (id: string, change: (now: Editing) => Editing | null): void =>
    setAll((before) => {
      const now = before.get(id);
      if (now === undefined) return before;
      const next = new Map(before);
      const changed = change(now);
      if (changed === null) next.delete(id);
      else next.set(id, changed);
      return next;
    });
  const save = async (one: Editing): Promise<void> => {
    const { row, typed, shown } = one;
    const saving: Editing = { ...one, state: 'saving', takesFocus: false };
    update(row.id, () => saving);
    // Once the person has gone on, nothing may take the focus from there.
    const at = document.activeElement;
    const isHere = (): boolean => document.activeElement === at;
    const settle = (as: Editing | null): void => update(row.id, (now) => (now === saving ? as : now));
    const reopen = (): void => settle({ ...one, takesFocus: isHere() });
    try {
      // What could not be read when the field opened can be by now.
      const read = await one.base.catch(() => api.records.get(row.id));
      // It had changed before it was read: what the person saw is the base.
      const base = lineOf(read) === shown ? read : { ...read, data: textToBase64(shown), etag: null };
      const mine = { ...editable(read), data: textToBase64(typed) };
      const result = await saveEdit(base, mine);
      if (result.kind === 'saved') {
        settle({ ...saving, state: 'saved' });
        latest.current.onSaved(result.saved);
      } else if (result.kind === 'unchanged') settle(null);
      else if (isHere()) {
        settle(null);
        latest.current.onConflict(base, mine, result.theirs);
      } else {
        reopen();
        toast(t('records.inPlaceConflict', { key: row.key }), { isError: true });
      }
    } catch (error) {
      reopen();
      const why = describeError(error).messages.join(' ');
      toast(t('records.inPlaceFailed', { key: row.key, why }), { isError: true });
    }
  };
  const mayLose = [...all.values()].some(isUnsaved);
  useLayoutEffect(() => (mayLose ? askBeforeLeaving(() => confirm(t('ui.unsaved'))) : undefined), [mayLose]);
  const inPlace = useMemo(() => {
    const shown = new Map<string, InPlace>();
    for (const [id, one] of all) {
      const isOther = arrival !== null && arrival.id !== id;
      if (one.state === 'saved' && isOther) continue;
      const now = arrival === null || isOther ? null : arrival.now;
      shown.set(id, {
        typed: one.state === 'open' ? one.typed : null,
        isChanged: isChanged(one),
        takesFocus: one.takesFocus,
        answered: now?.answered ?? null,
        isDone: now !== null && now.ended !== null,
        onFocus: () => update(id, (of) => ({ ...of, takesFocus: false })),
        onType: (typed) => update(id, (of) => ({ ...of, typed })),
        onSave: () => void save(one),
        onCancel: () => update(id, () => null),
      });
    }
    return shown;
  }, [all, arrival]);
  return {
    inPlace,
    start: (row, shown, base) =>
      setAll((before) => {
        const started: Editing = { row, shown, base, typed: shown, state: 'open', takesFocus: true };
        const own = before.get(row.id);
        const next = new Map([...before].filter(([, one]) => isUnsaved(one)));
        if (own?.state === 'open' && isChanged(own)) return next.set(row.id, { ...own, takesFocus: true });
        if (own?.state === 'saving')
          return next.set(row.id, { ...started, shown: own.typed, typed: own.typed });
        return next.set(row.id, started);
      }),
    end: (id) => update(id, () => null),
  };
}
