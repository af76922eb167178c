import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createRig, type Rig } from '../../../test/support/feed/follower/follower-rig.ts';
import { createMemoryView, payloadText } from '../../../test/support/view/memory-view.ts';
import {
  expired,
  namespaceDeleted,
  namespaceUpserted,
  upserted,
} from '../../../test/support/view/view-changes.ts';
import type { AppliedChange, ChangeBody } from '../../protocol/change.ts';

const KEY = 'x.res.ns.v1';
const OTHER_ID = '018f0000-0000-7000-8000-00000000000b';
const noise = (count: number): ChangeBody[] =>
  Array.from({ length: count }, (_, i) => upserted(`n${i}.res.other.v1`));

describe('a view from a snapshot', () => {
  let rig: Rig;
  let shown: unknown[];
  beforeEach(() => {
    rig = createRig();
    shown = [];
    const { view } = rig;
    const look = (): void => {
      const namespace = view.namespace('ns');
      shown.push([namespace?.id === OTHER_ID, namespace?.publicRead, payloadText(view.record(KEY))]);
    };
    const [apply, rebuild] = [view.apply.bind(view), view.rebuild.bind(view)];
    view.apply = async (...args) => {
      await apply(...args);
      look();
    };
    view.rebuild = async () => {
      const started = await rebuild();
      return {
        ...started,
        finish: async (...args) => {
          await started.finish(...args);
          look();
        },
      };
    };
  });
  afterEach(() => rig.stop());

  /** Written when the page of so many is asked for: those before are read. */
  function writtenAt(page: number, ...bodies: readonly AppliedChange[]): void {
    let isDone = false;
    rig.source.before = (call) => {
      if (call !== 'page' || isDone || rig.source.calls.page < page) return undefined;
      isDone = true;
      rig.source.write(...bodies);
      return undefined;
    };
  }

  it('of pages never has a record of after the change that closed its namespace, in the open one', async () => {
    rig.source.write(namespaceUpserted('ns', true), upserted(KEY, 'for all'));
    writtenAt(4, ...noise(7), namespaceUpserted('ns', false), upserted(KEY, 'secret'));
    await rig.start({ batch: 3 }).ready;
    assert.deepEqual(shown, [[false, false, 'secret']]);
  });

  it('of pages never has a record of the next owner of a name under the one before', async () => {
    rig.source.write(namespaceUpserted('ns', true), upserted(KEY, 'of A'));
    const next = namespaceUpserted('ns', false, false, OTHER_ID);
    writtenAt(4, ...noise(2), namespaceDeleted('ns'), next, upserted(KEY, 'secret of B'));
    // As from control, where they would not fit into one message.
    rig.source.bend = (changes) => changes.slice(0, 2);
    await rig.start().ready;
    assert.deepEqual(shown, [[true, false, 'secret of B']]);
  });

  it('of pages never has a value of before the change that opened its namespace', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted(KEY, 'secret'));
    writtenAt(
      1,
      upserted(KEY, 'secret 2'),
      ...noise(4),
      upserted(KEY, 'for all'),
      namespaceUpserted('ns', true),
    );
    await rig.start({ batch: 2 }).ready;
    assert.deepEqual(shown, [[false, true, 'for all']]);
  });

  it('of pages does not tell the next owner of a name what expired under the one before', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted(KEY));
    const next = namespaceUpserted('ns', false, false, OTHER_ID);
    writtenAt(1, expired(KEY, 1000), namespaceDeleted('ns'), next);
    await rig.start().ready;
    assert.equal(rig.view.hasExpired(KEY, OTHER_ID, 1000), false);
  });

  it('is built again where the log ends before the pages did', async () => {
    rig.source.write(namespaceUpserted('ns'));
    writtenAt(1, ...noise(4));
    let cuts = 0;
    rig.source.bend = (changes) => (cuts++ === 0 ? [] : changes);
    await rig.start().ready;
    rig.assertSame();
    assert.equal(rig.source.calls.openSnapshot, 2);
  });

  it('of a file goes on where the source gives few changes at once, and the file is not refused', async () => {
    rig.source.write(namespaceUpserted('ns', true), upserted(KEY, 'old'));
    rig.files.set('file', createMemoryView(rig.source.state()).copy());
    const refused: string[] = [];
    const file = {
      epoch: rig.source.epoch,
      seq: rig.source.state().cursor!,
      file: 'file',
      refuse: () => void refused.push('file'),
    };
    rig.source.write(...noise(5), upserted(KEY, 'new'));
    rig.source.bend = (changes) => changes.slice(0, 2);
    await rig.start({ source: { ...rig.source, openSnapshot: async () => file } }).ready;
    assert.deepEqual([shown, refused], [[[false, true, 'new']], []]);
  });
});
