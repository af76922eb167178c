/**
 * What was typed into a form and is not saved. It is kept in the memory of this page alone, never in a storage of the browser: it may hold
 * payloads. Each form has a name, and one draft.
 */
import { type Dispatch, type StateUpdater, useEffect, useRef, useState } from 'preact/hooks';

interface Kept {
  readonly value: object;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const kept = new Map<string, Kept>();
/** Of forms that are open: keeps what is typed in it now. A form may open again before the one that it replaces has gone. */
const open = new Map<string, () => void>();
/** What was typed before it began is nobody's any more. */
let era = 0;

/** Another person may sign in on this page. Forms that are still open go after it, and keep nothing. */
export function forgetDrafts(): void {
  kept.clear();
  era += 1;
}

export interface FormDraft<Value extends object> {
  readonly value: Value;
  readonly set: Dispatch<StateUpdater<Value>>;
  /** Changes some members. */
  readonly change: (parts: Partial<Value>) => void;
  readonly isChanged: boolean;
  /** When the draft that was left in this form was typed; null: there is none. */
  readonly leftAt: number | null;
  readonly restore: () => void;
  readonly forget: () => void;
  /** What the form holds now is saved. */
  readonly saved: () => void;
}

/**
 * State of a form. When the form goes with changes in it, they are kept until it opens again.
 * @param name null: nothing is kept
 * @param mayKeep false for values that must not be kept
 * @param begun what it opens with, where something was typed elsewhere already
 */
export function useDraft<Value extends object>(
  name: string | null,
  initial: Value,
  mayKeep: (value: Value) => boolean = () => true,
  begun: Value = initial,
): FormDraft<Value> {
  const [first] = useState(initial);
  const [begunIn] = useState(era);
  const [value, set] = useState(begun);
  const [left, setLeft] = useState(() => {
    if (name === null) return undefined;
    open.get(name)?.();
    return kept.get(name);
  });
  const isChanged = !isSame(first, value);
  const latest = useRef({ value, isChanged, isSaved: false });
  latest.current = { value, isChanged, isSaved: latest.current.isSaved && latest.current.value === value };
  const keep = useRef(() => {
    const now = latest.current;
    if (name !== null && begunIn === era && now.isChanged && !now.isSaved && mayKeep(now.value))
      kept.set(name, { value: now.value, at: Date.now() });
  }).current;
  if (name !== null) open.set(name, keep);
  useEffect(
    () => () => {
      keep();
      if (name !== null && open.get(name) === keep) open.delete(name);
    },
    [name],
  );
  const forget = (): void => {
    if (name !== null) kept.delete(name);
    setLeft(undefined);
  };
  return {
    value,
    set,
    change: (parts) => set((before) => ({ ...before, ...parts })),
    isChanged,
    leftAt: left?.at ?? null,
    restore: () => {
      if (left !== undefined) set(left.value as Value);
      forget();
    },
    forget,
    saved: () => {
      latest.current.isSaved = true;
      forget();
    },
  };
}

/** Members by their value; sets by their members. */
export function isSame(a: object, b: object): boolean {
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((one) => b.has(one));
  const [one, other] = [a, b] as readonly Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(one!), ...Object.keys(other!)]);
  return [...names].every((name) => {
    const [mine, theirs] = [one![name], other![name]];
    if (mine instanceof Set && theirs instanceof Set) return isSame(mine, theirs);
    return Object.is(mine, theirs);
  });
}
