import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Typed {
  readonly typed: string;
  readonly type: (text: string) => void;
  /** Takes effect at once. */
  readonly send: () => void;
}

/**
 * The text of a field that takes effect a moment after the last letter.
 * @param value what is in effect; it changes from outside too: by the history, or a button that clears all filters
 * @param pauseMs milliseconds after the last letter
 */
export function useTyped(value: string, pauseMs: number, onChange: (typed: string) => void): Typed {
  const [typed, type] = useState(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  const sent = useRef(value);
  const send = (): void => {
    sent.current = typed;
    latest.current(typed);
  };
  useLayoutEffect(() => {
    // A value that this field has sent comes back later: letters that were typed meanwhile must stay.
    if (value === sent.current) return;
    sent.current = value;
    type(value);
  }, [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(send, pauseMs);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return { typed, type, send };
}
