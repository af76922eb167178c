import { useRef, useState } from 'preact/hooks';

export interface Action {
  readonly isBusy: boolean;
  /** What the last run threw; undefined: nothing. */
  readonly error: unknown;
  /** Runs it, unless one is running: a double click does it once. */
  readonly run: (act: () => Promise<unknown>) => void;
}

/** A write of a form or a button. It is never repeated by itself. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const isRunning = useRef(false);
  const run = (act: () => Promise<unknown>): void => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setError(undefined);
    act()
      .catch(setError)
      .finally(() => {
        isRunning.current = false;
        setBusy(false);
      });
  };
  return { isBusy, error, run };
}
