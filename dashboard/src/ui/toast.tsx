import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Shortcut, useShortcuts } from '../app/shortcuts.ts';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';
import { describeError } from './describe-error.ts';

export interface ToastOptions {
  readonly isError?: boolean;
  /** Takes back what is told, from a button and the key `z`. What it throws is told in its place. */
  readonly undo?: (() => Promise<unknown>) | undefined;
}

interface Toast extends ToastOptions {
  readonly id: number;
  readonly text: string;
  readonly isBusy: boolean;
}

const shown = signal<readonly Toast[]>([]);
let lastId = 0;
const SHOWN_MS = 5000;
/** Long enough to read, to understand, and to reach the button. */
const UNDO_MS = 10_000;
const timers = new Map<number, ReturnType<typeof setTimeout>>();

/**
 * Says something in the corner for five seconds, or ten where it can be undone; an error stays until it is closed. For results of actions
 * whose form is gone: faults of an open form belong into an `ErrorNote` in it.
 */
export function toast(text: string, options: ToastOptions = {}): void {
  lastId += 1;
  shown.value = [...shown.value, { ...options, id: lastId, text, isBusy: false }];
  startTimer(lastId);
}

function startTimer(id: number): void {
  const found = shown.peek().find((one) => one.id === id);
  if (found === undefined || found.isError === true) return;
  const end = (): void => {
    // Under the pointer or with the focus it stays: somebody reads it, or is about to press.
    if (document.querySelector(`#toast-${id}:is(:hover, :focus-within)`) === null) dismiss(id);
    else timers.set(id, setTimeout(end, 1000));
  };
  timers.set(id, setTimeout(end, found.undo === undefined ? SHOWN_MS : UNDO_MS));
}

function stopTimer(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
}

function dismiss(id: number): void {
  stopTimer(id);
  // The focus goes to the page, not nowhere.
  if (document.querySelector(`#toast-${id}:focus-within`) !== null)
    document.querySelector<HTMLElement>('main h1')?.focus();
  shown.value = shown.value.filter((one) => one.id !== id);
}

/** What one person did is nothing that another one reads, or takes back. */
export function forgetToasts(): void {
  for (const { id } of shown.peek()) dismiss(id);
}

function takeBack({ id, undo, isBusy }: Toast): void {
  if (undo === undefined || isBusy) return;
  stopTimer(id);
  shown.value = shown.value.map((one) => (one.id === id ? { ...one, isBusy: true } : one));
  undo().then(
    () => dismiss(id),
    (error: unknown) => {
      dismiss(id);
      toast(t('ui.notUndone', { why: describeError(error).messages.join(' ') }), { isError: true });
    },
  );
}

/** The region of all toasts. The shell shows it once. */
export function Toasts() {
  const last = shown.value.findLast(({ undo }) => undo !== undefined);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((one) => (
        <div key={one.id} id={`toast-${one.id}`} class={`toast ${one.isError ? 'bad' : ''}`}>
          <span>{one.text}</span>
          {one.undo === undefined ? null : (
            <Button
              isBusy={one.isBusy}
              label={t('ui.undoThis', { what: one.text })}
              onClick={() => takeBack(one)}
            >
              {t('ui.undo')}
            </Button>
          )}
          <button
            type="button"
            class="button quiet corner"
            aria-label={t('ui.dismiss')}
            onClick={() => dismiss(one.id)}
          >
            ×
          </button>
        </div>
      ))}
      {last === undefined ? null : <UndoKey of={last} />}
    </div>
  );
}

/** The key is there, and in the help, while something can be undone. */
function UndoKey({ of }: { readonly of: Toast }) {
  const latest = useRef(of);
  latest.current = of;
  const shortcuts = useRef<Shortcut[]>([{ keys: 'z', text: 'ui.undo', run: () => takeBack(latest.current) }]);
  useShortcuts(shortcuts.current);
  return null;
}
