import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unlessCancelled } from './close.ts';

describe('unlessCancelled', () => {
  it('ends with the work, or with the reason of the signal', async () => {
    const cancel = new AbortController();
    assert.equal(await unlessCancelled(Promise.resolve(1), cancel.signal), 1);
    const waiting = unlessCancelled(new Promise(() => {}), cancel.signal);
    cancel.abort(new Error('stopped'));
    await assert.rejects(waiting, /stopped/);
  });

  it('leaves no failure of the work unhandled when the signal had aborted before', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): unknown => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const work = Promise.race([Promise.reject(new Error('another database'))]);
      await assert.rejects(unlessCancelled(work, AbortSignal.abort(new Error('stopped'))), /stopped/);
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(unhandled, []);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});
