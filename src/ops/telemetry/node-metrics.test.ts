import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { registerNodeMetrics, sampleLag } from './metrics.ts';

describe('the lag of the event loop', () => {
  it('is sampled once a second, and is by how much a timer is late', async () => {
    const timers = createManualTimers();
    let lateMs = 0;
    const samples: number[] = [];
    const sampler = sampleLag(
      (seconds) => samples.push(seconds),
      timers,
      () => timers.now + lateMs,
    );
    await timers.advance(999);
    assert.deepEqual(timers.pending(), [1]);
    await timers.advance(1_001);
    lateMs = 250;
    await timers.advance(2_000);
    assert.deepEqual(samples, [0, 0, 0.25, 0]);
    await sampler.stop();
    assert.deepEqual(timers.pending(), []);
  });

  it('keeps the names that the metrics library gives it', async () => {
    const registry = new Registry();
    registerNodeMetrics(registry);
    const names = ['', 'min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_', 'p99_'];
    const text = await registry.metrics();
    for (const name of names) {
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith(`uqrp_nodejs_eventloop_lag_${name}seconds `));
      assert.equal(lines.length, 1, name);
      assert.equal(Number(lines[0]?.split(' ')[1]) < 1, true, name);
    }
  });
});
