import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { createHealth } from './health-server.ts';
import { startHealthThread } from './health-thread.ts';
import type { Readiness } from './ops-routes.ts';

const ENTRY = new URL('../../process/health-worker.ts', import.meta.url);
const READY = { status: 200, body: { ready: true, stale: false, lag: { changes: 0, seconds: 1 } } };
const METRICS = { text: 'uqrp_x 1\n', contentType: 'text/plain; version=0.0.4; charset=utf-8' };

/** Asks from another process while this thread waits for it, and so does nothing else. @returns [status, text] of each path */
function askWhileBusy(port: number, paths: readonly string[]): readonly [number, string][] {
  const program = `
    const all = process.argv.slice(1).map(async (url) => {
      const answer = await fetch(url);
      return [answer.status, await answer.text()];
    });
    Promise.all(all).then((answers) => console.log(JSON.stringify(answers)));
  `;
  const urls = paths.map((path) => `http://127.0.0.1:${port}${path}`);
  return JSON.parse(execFileSync(process.execPath, ['-e', program, ...urls], { encoding: 'utf8' }));
}

function rig() {
  const timers = createManualTimers();
  const asked: string[] = [];
  const health = createHealth({
    ready: READY,
    ask: (what) => asked.push(what),
    now: () => timers.now,
    timers,
  });
  return { timers, asked, health };
}

describe('the thread of UQRP_METRICS', () => {
  it('answers /livez and /readyz while the main thread is busy: findings 1 and 2 of the second security review', async () => {
    const lag = { stale: false, seq: 3, seconds: 0.5 };
    let now: Readiness = { ready: true, reasons: [], feed: lag };
    const metrics = { contentType: METRICS.contentType, text: async () => METRICS.text };
    const thread = await startHealthThread({
      entry: ENTRY,
      host: '127.0.0.1',
      port: 0,
      readiness: () => now,
      metrics,
    });
    const url = (path: string): string => `http://127.0.0.1:${thread.port}${path}`;
    const [livez, readyz] = askWhileBusy(thread.port, ['/livez', '/readyz']);
    assert.deepEqual(livez, [200, '{"live":true}']);
    const { lag: told, ...rest } = JSON.parse(readyz![1]);
    assert.deepEqual([readyz![0], rest, told.changes], [200, { ready: true, stale: false }, 3]);
    assert.ok(told.seconds > lag.seconds, 'the lag grows while nothing is applied');
    // The main thread is back: what it says counts.
    now = { ready: false, reasons: ['stopping'] };
    const later = await fetch(url('/readyz'));
    assert.deepEqual([later.status, await later.json()], [503, { ready: false, reasons: ['stopping'] }]);
    const text = await fetch(url('/metrics'));
    assert.deepEqual(
      [text.status, text.headers.get('content-type'), await text.text()],
      [200, METRICS.contentType, METRICS.text],
    );
    const head = await fetch(url('/livez?x=1'), { method: 'HEAD' });
    assert.deepEqual(
      [head.status, head.headers.get('cache-control'), await head.text()],
      [200, 'no-store', ''],
    );
    assert.equal((await fetch(url('/livez'), { method: 'POST', body: 'x' })).status, 404);
    assert.equal((await fetch(url('/api/v1/me'))).status, 404);
    await thread.stop();
    await assert.rejects(fetch(url('/livez')));
  });

  it('says why it cannot listen', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const options = {
      entry: ENTRY,
      host: '127.0.0.1',
      readiness: (): Readiness => ({ ready: true, reasons: [] }),
    };
    const metrics = { contentType: '', text: async () => '' };
    await assert.rejects(startHealthThread({ ...options, port, metrics }), { code: 'EADDRINUSE' });
    taken.close();
  });

  it('counts a main thread as dead that has not answered for a minute, and as alive again when it answers', async () => {
    const { timers, asked, health } = rig();
    const livez = async () => (await health.reply('/livez')).status;
    assert.equal(await livez(), 200);
    await timers.advance(LIMITS.healthStuckMs - 1);
    assert.equal(await livez(), 200);
    await timers.advance(1);
    assert.equal(await livez(), 503);
    // One question at a time: a late main thread does not find hundreds of them.
    assert.deepEqual(asked, ['ready']);
    health.told({ type: 'ready', ready: READY });
    assert.equal(await livez(), 200);
    // Nobody asked in between: that is no silence.
    health.told({ type: 'ready', ready: READY });
    await timers.advance(LIMITS.healthStuckMs * 10);
    assert.equal(await livez(), 200);
  });

  it('readiness stays as it was while the main thread is silent, however long, with a lag that grows', async () => {
    const { timers, health } = rig();
    for (const silent of [LIMITS.healthAnswerMs, 600_000]) {
      const reply = health.reply('/readyz');
      await timers.advance(silent);
      const { status, text } = await reply;
      assert.equal(status, 200);
      assert.equal(
        JSON.parse(text).lag.seconds,
        1 + LIMITS.healthAnswerMs / 1000 + (timers.now - silent) / 1000,
      );
    }
  });

  it('metrics are 503 when the main thread does not give them in time, or cannot', async () => {
    const { timers, asked, health } = rig();
    const late = health.reply('/metrics');
    const same = health.reply('/metrics');
    await timers.advance(LIMITS.healthMetricsMs);
    assert.deepEqual([(await late).status, (await same).status], [503, 503]);
    health.told({ type: 'metrics', metrics: null });
    const failed = health.reply('/metrics');
    health.told({ type: 'metrics', metrics: null });
    assert.equal((await failed).status, 503);
    const whole = health.reply('/metrics');
    health.told({ type: 'metrics', metrics: METRICS });
    assert.equal((await whole).text, METRICS.text);
    assert.deepEqual(asked, ['metrics', 'metrics', 'metrics']);
  });
});
