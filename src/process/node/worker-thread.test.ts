import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { startThread } from './pool.ts';
import type { WorkerSettings } from './settings.ts';

test('a worker has a heap limit that makes V8 collect garbage early', async () => {
  const { port1, port2 } = new MessageChannel();
  const thread = startThread({
    entry: new URL('../../../test/support/process/node/heap-limit-worker.ts', import.meta.url),
    // This entry reads none of them.
    settings: {} as WorkerSettings,
    providers: port2,
    answerMs: 1000,
    askMs: 1000,
    onFault() {},
    onXdp() {},
    onCounted() {},
  });
  const started = await thread.started;
  assert.ok(started.type === 'failed');
  const megabytes = Number(started.code);
  // Old and young objects. Without a limit it is 2 to 4 GB.
  assert.ok(megabytes >= 768 && megabytes <= 832, `${megabytes} MB`);
  await thread.exited;
  port1.close();
});
