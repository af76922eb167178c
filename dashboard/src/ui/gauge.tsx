import { percent } from '../format/format.ts';

export interface GaugeProps {
  readonly label: string;
  readonly value: number;
  /** Of how many. */
  readonly max: number;
  /** Such as `58 of 60 this minute`. */
  readonly text: string;
  /** Such as `resets in 12 s`. */
  readonly note?: string;
  /** Of work that runs: to be full is its end, and good. */
  readonly isWork?: boolean;
}

/** From here on it is coloured. */
const NEAR = 0.8;

/** How much of a limit is used. */
export function Gauge({ label, value, max, text, note, isWork = false }: GaugeProps) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <div class="gauge">
      <div class="gauge-head">
        <span>{label}</span>
        <span>{percent(share)}</span>
      </div>
      <div
        role={isWork ? 'progressbar' : 'meter'}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={Math.min(value, max)}
        aria-valuetext={text}
        class={`meter ${toneOf(share, isWork)}`}
      >
        <div style={{ width: `${share * 100}%` }} />
      </div>
      <div class="gauge-foot">
        <span>{text}</span>
        {note === undefined ? null : <span>{note}</span>}
      </div>
    </div>
  );
}

function toneOf(share: number, isWork: boolean): string {
  if (isWork) return share >= 1 ? 'done' : '';
  return share >= 1 ? 'full' : share >= NEAR ? 'near' : '';
}
