import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { AppliedChange } from '../../../src/protocol/change.ts';
import {
  deleted,
  expired,
  NAMESPACE_ID,
  namespaceDeleted,
  namespaceUpserted,
  upserted,
} from './view-changes.ts';
import type { ViewFixture } from './view-suite.ts';

/** Which records expired a short time ago: what both views must tell alike. */
export function describeExpired(name: string, open: () => Promise<ViewFixture>): void {
  describe(`${name}: a record that expired`, () => {
    let fixture: ViewFixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.dispose());

    async function apply(changes: readonly AppliedChange[], cursor: number): Promise<void> {
      await fixture.writer.apply(changes, cursor);
      fixture.reader.refresh();
    }
    const MINUTE = 60_000;
    const at = 30_000_000 * MINUTE;
    const has = (key: string, now: number, id = NAMESPACE_ID): boolean =>
      fixture.reader.hasExpired(key, id, now);

    it('is known by its key for ten minutes at least, and for twenty at most', async () => {
      for (const offset of [0, 1, 5 * MINUTE, 10 * MINUTE - 1]) {
        await apply([namespaceUpserted('ns'), upserted(`k${offset}.res.ns.v1`)], 1);
        await apply([expired(`k${offset}.res.ns.v1`, at + offset)], 2);
        for (const later of [0, 1, 5 * MINUTE, 10 * MINUTE]) {
          assert.equal(has(`k${offset}.res.ns.v1`, at + offset + later), true);
        }
        assert.equal(has(`k${offset}.res.ns.v1`, at + offset + 20 * MINUTE), false);
      }
      assert.equal(has('other.res.ns.v1', at), false);
      assert.equal(fixture.reader.record('k0.res.ns.v1'), null);
    });

    it('is known after a restart and in a copy', async () => {
      await apply([namespaceUpserted('ns'), expired('a.res.ns.v1', at)], 1);
      fixture = await fixture.reopen();
      assert.equal(has('a.res.ns.v1', at), true);
    });

    it('is unknown to the next owner of its namespace', async () => {
      await apply([namespaceUpserted('ns'), expired('a.res.ns.v1', at), namespaceDeleted('ns')], 1);
      await apply([namespaceUpserted('ns', false, false, '018f0000-0000-7000-8000-000000000002')], 2);
      assert.equal(has('a.res.ns.v1', at, '018f0000-0000-7000-8000-000000000002'), false);
    });

    it('is forgotten when its owner deletes another record of this key', async () => {
      await apply([namespaceUpserted('ns'), expired('a.res.ns.v1', at)], 1);
      await apply([upserted('a.res.ns.v1')], 2);
      await apply([{ ...deleted('a.res.ns.v1'), at: at + MINUTE, cause: 'direct' }], 3);
      assert.equal(has('a.res.ns.v1', at + MINUTE), false);
    });
  });
}
