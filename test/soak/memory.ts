/** Slope and plot of a soak's memory samples, as pure functions. */

export interface Sample {
  /** Minutes since the soak began. */
  readonly minutes: number;
  readonly megabytes: number;
}

/** Least-squares slope, MB per minute. @param samples at least two, at different times */
export function slopeOf(samples: readonly Sample[]): number {
  const mean = (pick: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length;
  const meanX = mean(({ minutes }) => minutes);
  const meanY = mean(({ megabytes }) => megabytes);
  const spread = mean(({ minutes }) => (minutes - meanX) ** 2);
  return mean(({ minutes, megabytes }) => (minutes - meanX) * (megabytes - meanY)) / spread;
}

const WIDTH = 720;
const HEIGHT = 240;
const MARGIN = 40;
/** Points of the curve; each is the mean of the samples in its interval. */
const POINTS = 180;

/** An SVG of the samples, with the line of the slope from `warmAt` minutes on. */
export function plotOf(samples: readonly Sample[], warmAt: number): string {
  const end = samples.at(-1)!.minutes;
  const top = Math.ceil(Math.max(...samples.map(({ megabytes }) => megabytes)) / 100) * 100;
  const x = (minutes: number): string => (MARGIN + (minutes / end) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const y = (megabytes: number): string =>
    (HEIGHT - MARGIN - (megabytes / top) * (HEIGHT - 2 * MARGIN)).toFixed(1);
  const curve = meansOf(samples, end).map(({ minutes, megabytes }) => `${x(minutes)},${y(megabytes)}`);
  const warm = samples.filter(({ minutes }) => minutes >= warmAt);
  const slope = slopeOf(warm);
  const middle = (warm[0]!.minutes + end) / 2;
  const mean = warm.reduce((sum, { megabytes }) => sum + megabytes, 0) / warm.length;
  const onLine = (minutes: number): string => y(mean + slope * (minutes - middle));
  const text = (atX: string, atY: string, anchor: string, words: string): string =>
    `<text x="${atX}" y="${atY}" text-anchor="${anchor}" font-family="sans-serif" font-size="11">${words}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    '<title>Own memory of the server during the soak</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<path d="M${x(0)},${y(top)}V${y(0)}H${x(end)}" fill="none" stroke="#888"/>`,
    `<polyline points="${curve.join(' ')}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>`,
    `<path d="M${x(warmAt)},${onLine(warmAt)}L${x(end)},${onLine(end)}" stroke="#b3261e" stroke-dasharray="4"/>`,
    text(x(0), String(MARGIN - 12), 'start', `MB, 0 to ${top}`),
    text(x(end), String(HEIGHT - MARGIN + 18), 'end', `${Math.round(end)} minutes`),
    text(x(end), String(MARGIN - 12), 'end', `slope ${slope.toFixed(2)} MB a minute`),
    '</svg>',
    '',
  ].join('\n');
}

function meansOf(samples: readonly Sample[], end: number): Sample[] {
  const groups = Map.groupBy(samples, ({ minutes }) =>
    Math.min(POINTS - 1, Math.floor((minutes / end) * POINTS)),
  );
  return [...groups.values()].map((group) => ({
    minutes: group[0]!.minutes,
    megabytes: group.reduce((sum, { megabytes }) => sum + megabytes, 0) / group.length,
  }));
}
