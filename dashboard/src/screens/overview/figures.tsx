import type { QueryCounts } from '../../../../sdk/src/uqrp-sdk.ts';
import { count, percent, shortCount } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { type Figure, figuresOf } from './figures.ts';

const WINDOW_TEXT = {
  '24h': 'overview.before24h',
  '7d': 'overview.before7d',
  '30d': 'overview.before30d',
} as const;
const TONES = { answers: 'info', hits: 'good', refused: 'dim' } as const;
const WIDTH = 120;
const HEIGHT = 32;

/** Answers, share of hits and refusals: the number, its course, and how it was before. */
export function Figures({ queries }: { readonly queries: QueryCounts }) {
  return (
    <dl class="figures">
      {figuresOf(queries).map((figure) => (
        <div key={figure.name} class="card figure">
          <dt>{t(`overview.figure_${figure.name}`)}</dt>
          <dd>
            <strong title={titleOf(figure)}>{valueText(figure)}</strong>
            <span class="dim">{changeText(figure, queries.window)}</span>
          </dd>
          <Sparkline points={figure.points} tone={TONES[figure.name]} />
        </div>
      ))}
    </dl>
  );
}

function valueText({ name, value }: Figure): string {
  if (value === null) return '–';
  if (name === 'hits') return percent(value);
  return value < 100_000 ? count(value) : shortCount(value);
}

function titleOf({ name, value }: Figure): string | undefined {
  return name === 'hits' || value === null ? undefined : count(value);
}

function changeText({ name, change }: Figure, window: QueryCounts['window']): string {
  if (window === '30d') return t('overview.before30d');
  const before = t(WINDOW_TEXT[window]);
  if (change === null) return t('overview.nothingBefore', { before });
  const size = name === 'hits' ? Math.round(Math.abs(change) * 100) : percent(Math.abs(change));
  if (Math.abs(change) < 0.005) return t('overview.same', { before });
  const key =
    name === 'hits'
      ? change > 0
        ? 'overview.pointsMore'
        : 'overview.pointsLess'
      : change > 0
        ? 'overview.more'
        : 'overview.less';
  return t(key, { change: size, before });
}

interface SparklineProps {
  readonly points: readonly number[];
  readonly tone: string;
}

function Sparkline({ points, tone }: SparklineProps) {
  const top = Math.max(...points, 0.000_001);
  const places = points.map(
    (value, at) =>
      `${((at / Math.max(1, points.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1)}`,
  );
  return (
    <svg
      class={`sparkline tone-${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <polygon points={`0,${HEIGHT} ${places.join(' ')} ${WIDTH},${HEIGHT}`} />
      <polyline points={places.join(' ')} />
    </svg>
  );
}
