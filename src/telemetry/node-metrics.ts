import { createHistogram } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { every, type Repeating } from '../lifecycle/every.ts';
import { type Timers, wholeSecondTimers } from '../lifecycle/timers.ts';

const PREFIX = 'uqrp_';
const LAG = `${PREFIX}nodejs_eventloop_lag_`;
/** Milliseconds between two samples of the event loop's lag. */
const SAMPLE_MS = 1000;
/** The sampler of prom-client fires 100 times a second by default: more than half of what an idle process did. */
const NEVER_MS = 2 ** 30;
const NANOS = 1e9;
/** Of the figures of the lag. */
const LAST = 'p99';

/** Node's own metrics: memory, event loop, garbage collection, under the names that prom-client gives them. */
export function registerNodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX, eventLoopMonitoringPrecision: NEVER_MS });
  registerLag(registry);
}

/** Measures by how much a timer of a second is late: prom-client's lag includes the length of the timer. */
export function sampleLag(
  record: (seconds: number) => void,
  timers: Timers = wholeSecondTimers,
  now: () => number = () => performance.now(),
): Repeating {
  let due = now() + SAMPLE_MS;
  return every({
    ms: SAMPLE_MS,
    task() {
      record(Math.max(0, now() - due) / 1000);
      due = now() + SAMPLE_MS;
    },
    onError() {},
    timers,
  });
}

/** Replaces the figures that come from prom-client's sampler. Each scrape begins a new histogram. */
function registerLag(registry: Registry): void {
  const histogram = createHistogram();
  // A histogram of Node counts from 1.
  sampleLag((seconds) => histogram.record(Math.max(1, Math.round(seconds * NANOS))));
  const figures: Readonly<Record<string, [help: string, () => number]>> = {
    min: ['The least lag of the event loop', () => histogram.min],
    max: ['The greatest lag of the event loop', () => histogram.max],
    mean: ['The mean lag of the event loop', () => histogram.mean],
    stddev: ['The standard deviation of the lag of the event loop', () => histogram.stddev],
    p50: ['The 50th percentile of the lag of the event loop', () => histogram.percentile(50)],
    p90: ['The 90th percentile of the lag of the event loop', () => histogram.percentile(90)],
    p99: ['The 99th percentile of the lag of the event loop', () => histogram.percentile(99)],
  };
  for (const [name, [help, figure]] of Object.entries(figures)) {
    registry.removeSingleMetric(`${LAG}${name}_seconds`);
    new Gauge({
      registers: [registry],
      name: `${LAG}${name}_seconds`,
      help: `${help}, of a sample a second since the last scrape`,
      collect() {
        this.set(histogram.count === 0 ? 0 : figure() / NANOS);
        // The registry collects in the order of registration.
        if (name === LAST) histogram.reset();
      },
    });
  }
}
