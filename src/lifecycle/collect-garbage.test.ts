import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { collectGarbage } from './collect-garbage.ts';

for (const what of ['all', 'young'] as const) {
  it(`collects what nothing refers to, and leaves no gc in contexts that are made later: ${what}`, () => {
    const left = new WeakRef(Buffer.alloc(1 << 20));
    return new Promise<void>((resolve) => {
      // A WeakRef holds its target until the turn of the event loop has ended.
      setImmediate(() => {
        collectGarbage(what);
        assert.equal(left.deref(), undefined);
        assert.equal(runInNewContext('typeof gc'), 'undefined');
        resolve();
      });
    });
  });
}
