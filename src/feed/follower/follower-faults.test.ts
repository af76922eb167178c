import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { createFakeSource } from '../../../test/support/feed/fake-source.ts';
import { createRig, type Rig } from '../../../test/support/feed/follower/follower-rig.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import {
  deleted,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/view/view-changes.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { startFollower } from './follower.ts';

describe('follower and faults', () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
  });
  afterEach(() => rig.stop());

  for (const call of ['bounds', 'since', 'openSnapshot', 'page'] as const) {
    it(`goes on after a source that fails at ${call}`, async () => {
      rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'));
      let faults = 2;
      rig.source.before = (at, page) => {
        if (at === call && (call !== 'page' || page === 1) && faults-- > 0) throw new Error('source');
      };
      await rig.start().ready;
      rig.assertSame();
      assert.deepEqual(rig.faults, ['source'], 'two failures in a row are one report');
      assert.ok(rig.states.includes('failing'));
      assert.equal(rig.states.at(-1), 'following');
    });
  }

  for (const call of ['rebuild', 'load', 'finish'] as const) {
    it(`goes on after a view that fails at ${call}`, async () => {
      rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'), upserted('b.ns.v1'));
      let faults = 2;
      const fail = (at: string): void => {
        if (at === call && faults-- > 0) throw new Error('view');
      };
      const failing: ViewWriter = {
        ...rig.view,
        rebuild: async () => {
          fail('rebuild');
          const rebuild = await rig.view.rebuild();
          return {
            ...rebuild,
            load: async (page) => {
              fail('load');
              await rebuild.load(page);
            },
            finish: async (...args) => {
              fail('finish');
              await rebuild.finish(...args);
            },
          };
        },
      };
      await rig.start({ view: failing }).ready;
      rig.assertSame();
      assert.deepEqual(rig.faults, ['view'], 'two failures in a row are one report');
      assert.equal(rig.view.cursor(), 3);
    });
  }

  it('keeps its cursor and retries while the disk of the view is full, and reports it', async () => {
    rig.source.write(namespaceUpserted('ns'));
    await rig.start().ready;
    const apply = rig.view.apply.bind(rig.view);
    let isFull = true;
    rig.view.apply = async (...args) => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      return apply(...args);
    };
    rig.source.write(upserted('a.ns.v1'));
    await rig.until(() => rig.states.at(-1) === 'failing');
    assert.deepEqual(rig.faults, ['disk_full']);
    assert.equal(rig.view.cursor(), 1);
    assert.ok(rig.follower?.isStale());
    isFull = false;
    await rig.until(rig.caughtUp);
    rig.assertSame();
  });

  it('reads the cursor of the view when a commit failed but was made', async () => {
    await rig.start().ready;
    const apply = rig.view.apply.bind(rig.view);
    rig.view.apply = async (changes, cursor) => {
      rig.view.apply = apply;
      await apply(changes, cursor);
      throw new Error('the answer was lost');
    };
    rig.source.write(upserted('a.ns.v1'));
    await rig.until(() => rig.states.at(-1) === 'failing');
    await rig.until(() => rig.states.at(-1) === 'following');
    rig.assertSame();
    assert.deepEqual(rig.faults, ['view']);
  });
});

describe('follower and a busy source', () => {
  it('brings the view to the present state, with any writes between the pages of a snapshot', async () => {
    const key = fc.constantFrom('a.ns.v1', 'b.ns.v1', 'c.ns.v1', 'd.other.v1', 'e.other.v1');
    const name = fc.constantFrom('ns', 'other');
    const token = fc.constantFrom('one', 'two');
    const body: fc.Arbitrary<ChangeBody> = fc.oneof(
      fc.tuple(key, fc.string()).map((of) => upserted(...of)),
      key.map(deleted),
      name.map((at) => namespaceUpserted(at)),
      name.map(namespaceDeleted),
      fc.tuple(name, token).map((of) => minted(...of)),
      fc.tuple(name, token).map((of) => revoked(...of)),
    );
    const bodies = fc.array(body, { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.array(bodies, { maxLength: 12 }),
        fc.integer({ min: 1, max: 3 }),
        async (first, later, batch) => {
          const busy = createFakeSource(1);
          const target = createMemoryView();
          busy.write(...first);
          const queue = [...later];
          busy.before = () => busy.write(...(queue.shift() ?? []));
          const one = startFollower({ source: busy, view: target, clock: () => 0, pollMs: 1, batch });
          await one.ready;
          while (queue.length > 0 || target.state.cursor !== busy.state().cursor) await nextTurn();
          await one.stop();
          assert.deepEqual(target.state, busy.state());
        },
      ),
      { numRuns: 200 },
    );
  });
});
