import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import type { OutboundClient } from './outbound-client.ts';
import { type OutboundThread, startOutboundThread, startOutboundThreads } from './outbound-thread.ts';
import type { OutboundResult } from './request.ts';

const ECHO_THREAD = new URL('../../test/support/outbound/thread-entry.ts', import.meta.url);
const REAL = new URL('../process/outbound-worker.ts', import.meta.url);
const FAILED = (fault: string): object => ({ kind: 'failed', fault });

function ask(client: OutboundClient, url: string, signal?: AbortSignal): Promise<OutboundResult> {
  const request = {
    method: 'POST',
    url: new URL(url),
    headers: { a: 'b' },
    body: Buffer.from('x'),
    maxBytes: 0,
  } as const;
  return client(request, signal);
}

async function withThread(
  entry: URL,
  deadlineMs: number,
  run: (thread: OutboundThread, exits: () => number) => Promise<void>,
): Promise<void> {
  let exits = 0;
  const settings = { resolvers: ['192.0.2.1'], deadlineMs };
  const thread = startOutboundThread({ entry, settings, onExit: () => exits++ });
  try {
    await run(thread, () => exits);
  } finally {
    await thread.stop();
  }
}

describe('the outbound thread', () => {
  it('carries requests and responses', () =>
    withThread(ECHO_THREAD, 5000, async ({ client }) => {
      const results = await Promise.all([1, 2, 3].map((n) => ask(client, `https://h.example.com/${n}`)));
      for (const result of results) {
        assert.ok(result.kind === 'response');
        assert.deepEqual([result.status, result.headers.a, result.body.toString()], [200, 'b', 'x']);
      }
    }));

  it('has the policy of webhooks, in the thread', () =>
    withThread(REAL, 5000, async ({ client }) => {
      for (const url of [
        'https://127.0.0.1/',
        'http://example.com/',
        'https://[::1]/',
        'https://localhost/',
      ]) {
        assert.deepEqual(await ask(client, url), FAILED('blocked_address'), url);
      }
    }));

  it('reports `interrupted` when the thread ends, and goes on with another thread', () =>
    withThread(ECHO_THREAD, 5000, async ({ client }, exits) => {
      const waiting = ask(client, 'https://h.example.com/mute');
      assert.deepEqual(await ask(client, 'https://h.example.com/die'), FAILED('interrupted'));
      assert.deepEqual(await waiting, FAILED('interrupted'));
      assert.equal((await ask(client, 'https://h.example.com/')).kind, 'response');
      assert.equal(exits(), 1);
    }));

  it('gives up on a thread that says nothing, when its caller does, and when it is stopped', () =>
    withThread(ECHO_THREAD, -1900, async (thread) => {
      const mute = 'https://h.example.com/mute';
      assert.deepEqual(await ask(thread.client, mute), FAILED('interrupted'));
      const controller = new AbortController();
      const aborted = ask(thread.client, mute, controller.signal);
      setImmediate(() => controller.abort());
      assert.deepEqual(await aborted, FAILED('timeout'));
      assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
      const stopped = ask(thread.client, mute);
      await Promise.all([
        stopped.then((result) => assert.deepEqual(result, FAILED('interrupted'))),
        thread.stop(),
      ]);
      assert.deepEqual(await ask(thread.client, mute), FAILED('interrupted'));
    }));

  it('may be several: the one with the fewest open requests is used', async () => {
    let exits = 0;
    const settings = { resolvers: [], deadlineMs: 5000 };
    const threads = startOutboundThreads(2, { entry: ECHO_THREAD, settings, onExit: () => exits++ });
    const mute = ask(threads.client, 'https://h.example.com/mute');
    // Dies beside it, not with it.
    assert.deepEqual(await ask(threads.client, 'https://h.example.com/die'), FAILED('interrupted'));
    assert.deepEqual([threads.underWay(), exits], [1, 1]);
    await threads.stop();
    assert.deepEqual(await mute, FAILED('interrupted'));
    assert.equal(threads.underWay(), 0);
  });
});
