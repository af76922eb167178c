import { useEffect, useRef } from 'preact/hooks';
import { session } from '../app/session.ts';

/** Acts every `ms` while the window is visible and the session holds. @param ms null: not at all */
export function usePoll(ms: number | null, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (ms === null) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && session.peek().phase === 'in') latest.current();
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
}
