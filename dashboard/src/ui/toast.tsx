import { signal } from '@preact/signals';
import { t } from '../text/text.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
}

const shown = signal<readonly Toast[]>([]);
let lastId = 0;
const SHOWN_MS = 5000;

/**
 * Says something in the corner for five seconds; an error stays until it is closed. For results of actions whose form is gone: faults of
 * an open form belong into an `ErrorNote` in it.
 */
export function toast(text: string, { isError = false }: { readonly isError?: boolean } = {}): void {
  lastId += 1;
  const id = lastId;
  shown.value = [...shown.value, { id, text, isError }];
  if (!isError) setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  shown.value = shown.value.filter((one) => one.id !== id);
}

/** The region of all toasts. The shell shows it once. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, text, isError }) => (
        <div key={id} class={`toast ${isError ? 'bad' : ''}`}>
          <span>{text}</span>
          <button
            type="button"
            class="button quiet corner"
            aria-label={t('ui.dismiss')}
            onClick={() => dismiss(id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
