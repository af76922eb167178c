import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { UnfitFileError } from '../../../src/feed/ports/view-writer.ts';
import type { ChangeBody } from '../../../src/protocol/change.ts';
import { payloadText } from './memory-view.ts';
import { deleted, digestOf, minted, namespaceUpserted, revoked, upserted } from './view-changes.ts';
import type { ViewFixture } from './view-suite.ts';

/** How both implementations of the two ports take a snapshot that is a file. */
export function describeAdoption(name: string, open: () => Promise<ViewFixture>): void {
  describe(`${name} and files to adopt`, () => {
    let fixture: ViewFixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.dispose());

    async function apply(changes: readonly ChangeBody[], cursor: number): Promise<void> {
      await fixture.writer.apply(changes, cursor);
      fixture.reader.refresh();
    }
    async function rebuildWith(changes: readonly ChangeBody[], cursor: number): Promise<void> {
      const rebuild = await fixture.writer.rebuild();
      await rebuild.load(changes);
      await rebuild.finish([], cursor, 'an epoch');
      fixture.reader.refresh();
    }
    const text = (key: string): string | null => payloadText(fixture.reader.record(key));

    it('adopts a copy beside the view that serves, applies what follows, and replaces it in one step', async () => {
      await rebuildWith(
        [namespaceUpserted('ns'), minted('ns', 't'), upserted('a.ns.v1'), upserted('b.ns.v1')],
        10,
      );
      const file = await fixture.copy();
      await apply([deleted('a.ns.v1'), upserted('c.ns.v1')], 12);
      const rebuild = await fixture.writer.rebuild();
      await rebuild.adopt(file, { epoch: 'an epoch', seq: 10 });
      await rebuild.apply([deleted('a.ns.v1')], 11);
      fixture.reader.refresh();
      assert.deepEqual(
        [fixture.writer.cursor(), text('c.ns.v1')],
        [12, 'c.ns.v1'],
        'the old view serves meanwhile',
      );
      await rebuild.finish([upserted('c.ns.v1', 'again'), revoked('ns', 't')], 13, 'an epoch');
      fixture = await fixture.reopen();
      assert.deepEqual([fixture.writer.cursor(), fixture.writer.epoch()], [13, 'an epoch']);
      assert.deepEqual(['a.ns.v1', 'b.ns.v1', 'c.ns.v1'].map(text), [null, 'b.ns.v1', 'again']);
      assert.equal(fixture.reader.token(digestOf('t')), null);
      await apply([upserted('later.ns.v1')], 14);
      assert.equal(text('later.ns.v1'), 'later.ns.v1');
    });

    it('adopts no file of another epoch or position, and none that is no view', async () => {
      await rebuildWith([upserted('a.ns.v1')], 10);
      const wrong: [string, { epoch: string; seq: number }][] = [
        [await fixture.copy(), { epoch: 'another', seq: 10 }],
        [await fixture.copy(), { epoch: 'an epoch', seq: 11 }],
        [fixture.spoiled(), { epoch: 'an epoch', seq: 10 }],
      ];
      for (const [file, has] of wrong) {
        const rebuild = await fixture.writer.rebuild();
        await assert.rejects(rebuild.adopt(file, has), UnfitFileError);
        await rebuild.discard();
        fixture.reader.refresh();
        assert.deepEqual([fixture.writer.cursor(), text('a.ns.v1')], [10, 'a.ns.v1']);
      }
      await rebuildWith([upserted('b.ns.v1')], 20);
      assert.equal(text('a.ns.v1'), null, 'nothing of a refused file is left');
    });

    it('keeps the view that served when a restart cuts an adoption short', async () => {
      await rebuildWith([upserted('a.ns.v1')], 10);
      const file = await fixture.copy();
      await apply([upserted('b.ns.v1')], 11);
      const rebuild = await fixture.writer.rebuild();
      await rebuild.adopt(file, { epoch: 'an epoch', seq: 10 });
      fixture = await fixture.reopen();
      assert.deepEqual([fixture.writer.cursor(), text('b.ns.v1')], [11, 'b.ns.v1']);
    });
  });
}
