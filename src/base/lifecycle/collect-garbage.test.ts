import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { collectGarbage } from './collect-garbage.ts';

it('collects what nothing refers to, and leaves no gc in contexts that are made later', () => {
  const left = new WeakRef(Buffer.alloc(1 << 20));
  return new Promise<void>((resolve) => {
    // A WeakRef holds its target until the turn of the event loop has ended.
    setImmediate(() => {
      collectGarbage();
      assert.equal(left.deref(), undefined);
      assert.equal(runInNewContext('typeof gc'), 'undefined');
      resolve();
    });
  });
});

it('a young collection frees buffers that are new, and leaves no gc either', async () => {
  // Fewer than those at which V8 collects by itself.
  const octets = 16 << 20;
  const held = (): number => process.memoryUsage().arrayBuffers;
  collectGarbage();
  const before = held();
  for (let made = 0; made < octets; made += 1 << 20) Buffer.alloc(1 << 20);
  collectGarbage('young');
  // V8 frees them in a thread of its own.
  for (let turn = 0; turn < 100_000 && held() > before + octets / 4; turn++) await nextTick();
  assert.ok(held() <= before + octets / 4);
  assert.equal(runInNewContext('typeof gc'), 'undefined');
});
