import { useMemo, useRef, useState } from 'preact/hooks';
import { dateTime, shortCount } from '../format/format.ts';
import { t } from '../text/text.ts';
import { barsOf, type ChartData, lineOf, rangeOf, SIZE, topOf } from './chart-shapes.ts';

export type { ChartData } from './chart-shapes.ts';

export interface ChartProps {
  /** Accessible name. */
  readonly label: string;
  /** What the chart says, in a sentence, for people who do not see it. */
  readonly summary: string;
  readonly data: ChartData;
  /** Pixels. Default 200. */
  readonly height?: number;
  /** A range of time was dragged; seconds since 1970. */
  readonly onRange?: (from: number, until: number) => void;
  /** A range that stays marked; seconds since 1970. */
  readonly chosen?: readonly [from: number, until: number];
}

/** Shares of the width, 0 to 1. */
interface Drag {
  readonly from: number;
  readonly to: number;
}

/** A shorter drag is a click. */
const DRAG_MIN = 0.005;

/** Values over time, as bars or lines. The pointer shows the values of a step. */
export function Chart({ label, summary, data, height = 200, onRange, chosen }: ChartProps) {
  const area = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const top = topOf(data);
  const drawing = useMemo(() => <Drawing data={data} />, [data]);
  const shareOf = (event: PointerEvent): number => {
    const { left, width } = area.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return (event.clientX - left) / width;
  };
  const first = data.times[0];
  const last = data.times.at(-1);
  const marked = drag ?? (chosen === undefined ? null : dragOf(data.times, chosen));
  const shown =
    marked === null
      ? null
      : { left: Math.min(marked.from, marked.to), width: Math.abs(marked.to - marked.from) };
  return (
    <figure class="chart" aria-label={label}>
      <figcaption class="hidden">{summary}</figcaption>
      {first === undefined || last === undefined ? (
        <p class="dim">{t('ui.chartEmpty')}</p>
      ) : (
        <div aria-hidden="true">
          <div class="chart-foot">
            <span>{shortCount(top)}</span>
            <span>{pointed === null ? '' : valuesAt(data, pointed)}</span>
          </div>
          <div
            ref={area}
            class={`chart-area ${onRange === undefined ? '' : 'ranges'}`}
            style={{ height: `${height}px` }}
            onPointerMove={(event) => {
              const share = shareOf(event);
              const at = Math.floor(share * data.times.length);
              setPointed(Math.max(0, Math.min(data.times.length - 1, at)));
              if (drag !== null) setDrag({ from: drag.from, to: share });
            }}
            onPointerLeave={() => setPointed(null)}
            onPointerDown={(event) => {
              if (onRange === undefined) return;
              event.currentTarget.setPointerCapture(event.pointerId);
              const share = shareOf(event);
              setDrag({ from: share, to: share });
            }}
            onPointerUp={() => {
              setDrag(null);
              if (drag !== null && Math.abs(drag.to - drag.from) > DRAG_MIN)
                onRange?.(...rangeOf(data.times, drag.from, drag.to));
            }}
            onPointerCancel={() => setDrag(null)}
          >
            {drawing}
            {shown === null ? null : (
              <div
                class="chart-range"
                style={{ left: `${shown.left * 100}%`, width: `${shown.width * 100}%` }}
              />
            )}
          </div>
          <div class="chart-foot">
            <span>{dateTime(first * 1000)}</span>
            <span>{dateTime(last * 1000)}</span>
          </div>
        </div>
      )}
      <ul class="legend" aria-hidden="true">
        {data.series.map(({ name, tone }) => (
          <li key={name}>
            <span class={`swatch tone-${tone}`} /> {name}
          </li>
        ))}
      </ul>
    </figure>
  );
}

function levelAt(data: ChartData, level: number): { y1: number; y2: number } {
  const y = SIZE - (level / topOf(data)) * SIZE;
  return { y1: y, y2: y };
}

/** A range of time as shares of the width; null: none of it is in the chart. */
function dragOf(times: readonly number[], [from, until]: readonly [number, number]): Drag | null {
  const first = times[0] ?? 0;
  const width = ((times[1] ?? first + 1) - first) * times.length;
  const share = (at: number): number => Math.max(0, Math.min(1, (at - first) / width));
  return share(from) === share(until) ? null : { from: share(from), to: share(until) };
}

function Drawing({ data }: { readonly data: ChartData }) {
  return (
    <svg viewBox={`0 0 ${SIZE} ${SIZE}`} preserveAspectRatio="none" aria-hidden="true">
      {data.isStacked
        ? barsOf(data).map(({ tone, ...bar }) => (
            <rect key={`${bar.x} ${tone}`} class={`tone-${tone}`} {...bar} />
          ))
        : data.series.map((series) => (
            <polyline key={series.name} class={`tone-${series.tone}`} points={lineOf(series, topOf(data))} />
          ))}
      {data.level === undefined ? null : (
        <line class="chart-level" x1="0" x2={SIZE} {...levelAt(data, data.level)} />
      )}
    </svg>
  );
}

function valuesAt({ times, series }: ChartData, at: number): string {
  const parts = series
    .filter(({ values }) => (values[at] ?? 0) > 0)
    .map(({ name, values }) => `${name} ${shortCount(values[at] ?? 0)}`);
  return [dateTime((times[at] ?? 0) * 1000), ...parts].join(' · ');
}
