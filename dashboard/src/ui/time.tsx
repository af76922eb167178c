import { useEffect, useState } from 'preact/hooks';
import { dateTime, type Moment, relative } from '../format/format.ts';

export interface TimeProps {
  readonly at: Moment;
  /** `exact`: date and time. Default: relative (`3 hr. ago`, `in 2 days`), exact in its tooltip, kept up to date. */
  readonly form?: 'relative' | 'exact';
}

const TICK_MS = 10_000;

/** A time. */
export function Time({ at, form = 'relative' }: TimeProps) {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (form === 'exact') return;
    const timer = setInterval(() => setTick((tick) => tick + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [form]);
  const exact = dateTime(at);
  return (
    <time dateTime={new Date(at).toISOString()} title={exact}>
      {form === 'exact' ? exact : relative(at)}
    </time>
  );
}
