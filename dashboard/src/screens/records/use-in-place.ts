/** The value of one record, changed in its place in the list. */
import { useState } from 'preact/hooks';
import { bytesOf, type TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { toast } from '../../ui/toast.tsx';
import type { Arrival } from './arrival.ts';
import { utf8 } from './payload.ts';
import { textToBase64 } from './record-rules.ts';
import { editable, type Saved, saveEdit } from './save-record.ts';
import type { Editable } from './three-way.ts';
import type { InPlace } from './value-cell.tsx';

interface Editing {
  readonly id: string;
  /** The value that the field began with. */
  readonly shown: string;
  /** The record as it was then, which may be still on its way: who begins to type must not wait for it. */
  readonly base: Promise<TaggedRecord>;
  /** Null: it is being saved, or was. */
  readonly typed: string | null;
}

export interface InPlacePorts {
  readonly onSaved: (saved: Saved) => void;
  /** Somebody else has changed it meanwhile. */
  readonly onConflict: (base: TaggedRecord, mine: Editable, theirs: TaggedRecord) => void;
}

export interface InPlaceHandle {
  readonly inPlace: InPlace | null;
  readonly start: (id: string, shown: string, base: Promise<TaggedRecord>) => void;
  readonly end: () => void;
}

/** The value where it is one line of text, else null. */
export function lineOf(record: TaggedRecord): string | null {
  const text = utf8(bytesOf(record));
  return text === null || /[\r\n\0]/.test(text) ? null : text;
}

/** @param arrival of the last write, and of which record it is */
export function useInPlace(
  arrival: { readonly id: string; readonly now: Arrival } | null,
  { onSaved, onConflict }: InPlacePorts,
): InPlaceHandle {
  const [editing, setEditing] = useState<Editing | null>(null);
  const end = (): void => setEditing(null);
  const save = async (now: Editing): Promise<void> => {
    const { typed, shown } = now;
    if (typed === null) return;
    setEditing({ ...now, typed: null });
    try {
      const read = await now.base;
      // It had changed before it was read: what the person saw is the base.
      const base = lineOf(read) === shown ? read : { ...read, data: textToBase64(shown), etag: null };
      const mine = { ...editable(read), data: textToBase64(typed) };
      const result = await saveEdit(base, mine);
      if (result.kind === 'saved') onSaved(result.saved);
      else end();
      if (result.kind === 'conflict') onConflict(base, mine, result.theirs);
    } catch (error) {
      setEditing(now);
      toast(error instanceof Error ? error.message : String(error), { isError: true });
    }
  };
  const now = arrival !== null && arrival.id === editing?.id ? arrival.now : null;
  return {
    inPlace:
      editing === null
        ? null
        : {
            id: editing.id,
            typed: editing.typed,
            answered: now?.answered ?? null,
            isDone: now !== null && now.ended !== null,
            onType: (typed) => setEditing({ ...editing, typed }),
            onSave: () => void save(editing),
            onCancel: end,
          },
    start: (id, shown, base) => setEditing({ id, shown, base, typed: shown }),
    end,
  };
}
