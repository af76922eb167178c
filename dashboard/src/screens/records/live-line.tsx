import { useEffect, useRef, useState } from 'preact/hooks';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { type LiveMarks, markCounts } from './live-marks.ts';

export interface LiveLineProps {
  readonly marks: LiveMarks;
  readonly onClear: () => void;
  /** Reads the list again, so that new records are in it and deleted ones are not. */
  readonly onRestart: () => void;
}

/** Milliseconds between two announcements: what is said in between is said once, with the last numbers. */
const QUIET_MS = 5000;

/** How many records others have changed. It is read out, but seldom. */
export function LiveLine({ marks, onClear, onRestart }: LiveLineProps) {
  const text = useSeldom(textOf(marks));
  return (
    <div class={text === '' ? 'hidden' : 'actions'}>
      <span role="status">{text}</span>
      {text === '' ? null : (
        <>
          <Button tone="quiet" onClick={onClear}>
            {t('records.liveClear')}
          </Button>
          <Button tone="quiet" onClick={onRestart}>
            {t('records.liveRead')}
          </Button>
        </>
      )}
    </div>
  );
}

const WORDS = [
  ['new', 'records.liveNew'],
  ['changed', 'records.liveChanged'],
  ['deleted', 'records.liveDeleted'],
  ['expired', 'records.liveExpired'],
] as const;

function textOf(marks: LiveMarks): string {
  const counts = markCounts(marks);
  const parts = WORDS.flatMap(([kind, key]) => {
    const found = counts.get(kind);
    return found === undefined ? [] : [tn(key, found)];
  });
  return parts.length === 0 ? '' : t('records.live', { what: parts.join(', ') });
}

/** A text that is read out: it changes at most every five seconds; that it is empty is told at once. */
export function useSeldom(text: string): string {
  const [shown, setShown] = useState(text);
  const last = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (text === shown) return;
    const show = (): void => {
      last.current = performance.now();
      setShown(text);
    };
    const wait = last.current + QUIET_MS - performance.now();
    if (text === '' || wait <= 0) {
      show();
      return;
    }
    const timer = setTimeout(show, wait);
    return () => clearTimeout(timer);
  }, [text, shown]);
  return text === '' ? '' : shown;
}
