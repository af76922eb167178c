import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { ChangeBody } from '../../../../src/protocol/change.ts';
import { upserted } from '../view-changes.ts';
import type { ViewFixture } from '../view-suite.ts';
import {
  attestationKey,
  checkpointed,
  facts,
  itemsAdded,
  keyAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
  withdrawn,
} from './dataset-changes.ts';

const [FIRST, SECOND, THIRD] = [versionIdOf(1), versionIdOf(2), versionIdOf(3)];

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** What both implementations of `DatasetView` must do alike. */
export function describeDatasets(name: string, open: () => Promise<ViewFixture>): void {
  describe(`${name}: datasets`, () => {
    let fixture: ViewFixture;
    let cursor = 0;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.dispose());

    async function apply(...changes: readonly ChangeBody[]): Promise<void> {
      await fixture.writer.apply(changes, ++cursor);
      fixture.reader.refresh();
    }
    async function rebuild(changes: readonly ChangeBody[], later: readonly ChangeBody[] = []): Promise<void> {
      const next = await fixture.writer.rebuild();
      for (const change of changes) await next.load([change]);
      await next.finish(later, ++cursor, 'an epoch');
      fixture.reader.refresh();
    }
    const brand = (slug: string, item: string): string | null =>
      fixture.reader.datasets.identity(slug, item)[0]?.brand ?? null;
    const latest = (slug: string): string | null =>
      fixture.reader.datasets.manifest(slug, null)?.version ?? null;
    const kids = (): number[] => {
      const found = fixture.reader.datasets.keys().map(({ publicKey }) => Buffer.from(publicKey));
      return [1, 2, 3].filter((n) => found.some((key) => key.equals(attestationKey(n).publicKey)));
    };
    const item = (key: string, text: string) => ({
      item: key,
      windows: [facts(null, null, { brand: text })],
    });

    it('has nothing at first', () => {
      const { datasets } = fixture.reader;
      assert.equal(datasets.manifest('gtin-demo', null), null);
      assert.deepEqual(datasets.identity('gtin-demo', '12345678'), []);
      assert.deepEqual(datasets.keys(), []);
    });

    it('serves a version from its publication on, and not before', async () => {
      await apply(itemsAdded(FIRST, item('a', 'one')));
      assert.equal(brand('x', 'a'), null);
      await apply(published(FIRST, manifestOf('x', '1.0.0')));
      assert.equal(brand('x', 'a'), 'one');
      assert.deepEqual(fixture.reader.datasets.manifest('x', '1.0.0'), manifestOf('x', '1.0.0'));
      assert.deepEqual(fixture.reader.datasets.manifest('x', null), manifestOf('x', '1.0.0'));
      assert.equal(fixture.reader.datasets.manifest('x', '1.0'), null);
      assert.equal(brand('x', 'b'), null);
      assert.equal(brand('x-', 'a'), null);
    });

    it('answers from the latest version by number, whatever the order of the imports', async () => {
      await apply(itemsAdded(SECOND, item('a', 'ten')), published(SECOND, manifestOf('x', '1.10.0')));
      await apply(itemsAdded(FIRST, item('a', 'two')), published(FIRST, manifestOf('x', '1.2.0')));
      await apply(itemsAdded(THIRD, item('a', 'other')), published(THIRD, manifestOf('x-2', '9.0.0')));
      assert.equal(latest('x'), '1.10.0');
      assert.equal(brand('x', 'a'), 'ten');
      assert.equal(fixture.reader.datasets.manifest('x', '1.2.0')?.version, '1.2.0');
      await apply(withdrawn(SECOND));
      assert.equal(latest('x'), '1.2.0');
      assert.equal(brand('x', 'a'), 'two');
      assert.equal(fixture.reader.datasets.manifest('x', '1.10.0'), null);
      await apply(withdrawn(FIRST), withdrawn(FIRST));
      assert.equal(latest('x'), null);
      assert.equal(brand('x', 'a'), null);
      assert.equal(latest('x-2'), '9.0.0');
    });

    it('has nothing of an import that was given up', async () => {
      await apply(itemsAdded(FIRST, item('a', 'one')), withdrawn(FIRST));
      await apply(published(SECOND, manifestOf('x', '1.0.0')));
      assert.equal(brand('x', 'a'), null);
      assert.equal(latest('x'), '1.0.0');
    });

    it('has nothing of a version that was withdrawn, whatever comes later', async () => {
      await apply(withdrawn(FIRST), itemsAdded(SECOND, item('a', 'two')));
      fixture = await fixture.reopen();
      await apply(itemsAdded(FIRST, item('a', 'one')), published(FIRST, manifestOf('x', '1.1.0')));
      assert.equal(latest('x'), null);
      // What it was withdrawn for: another import of the same number.
      await apply(published(SECOND, manifestOf('x', '1.1.0')), published(FIRST, manifestOf('x', '1.1.0')));
      assert.equal(brand('x', 'a'), 'two');
      await rebuild(
        [itemsAdded(FIRST, item('a', 'one')), withdrawn(FIRST), itemsAdded(SECOND, item('a', 'two'))],
        [published(FIRST, manifestOf('x', '1.2.0')), published(SECOND, manifestOf('x', '1.1.0'))],
      );
      assert.equal(latest('x'), '1.1.0');
      assert.equal(brand('x', 'a'), 'two');
    });

    it('keeps every field of every window', async () => {
      const text = 'é'.repeat(LIMITS.datasetText / 2);
      const windows = Array.from({ length: LIMITS.datasetWindows }, (_, i) =>
        facts(-62_135_596_800 + i, i === LIMITS.datasetWindows - 1 ? null : 253_402_300_799, {
          issuer: text,
          brand: i % 2 === 0 ? '' : text,
          cc: 'aB',
          type: text,
        }),
      );
      const longest = 'k'.repeat(LIMITS.datasetItemKey);
      const items = [
        { item: longest, windows },
        { item: 'k', windows: [facts(null, 0)] },
      ];
      await apply(itemsAdded(FIRST, ...items), published(FIRST, manifestOf('x', '1.0.0')));
      assert.deepEqual(fixture.reader.datasets.identity('x', longest), windows);
      assert.deepEqual(fixture.reader.datasets.identity('x', 'k'), [facts(null, 0)]);
    });

    it('publishes the newest key and those that a served manifest names', async () => {
      await apply(keyAdded(1, 100));
      assert.deepEqual(kids(), [1]);
      await apply(published(FIRST, manifestOf('x', '1.0.0', 1)), keyAdded(1, 100, 200), keyAdded(2, 200));
      assert.deepEqual(kids(), [1, 2]);
      const [old] = fixture.reader.datasets.keys().filter(({ since }) => since === 100);
      assert.equal(old?.end, 200);
      await apply(keyAdded(3, 300));
      assert.deepEqual(kids(), [1, 3]);
      await apply(withdrawn(FIRST));
      assert.deepEqual(kids(), [3]);
    });

    it('has the proof of a served version, from its change on until the version is withdrawn', async () => {
      const { datasets } = fixture.reader;
      const proofOf = (version: string | null) => datasets.proof('x', version);
      await apply(proved(FIRST, 'too early\n'), published(FIRST, manifestOf('x', '1.9.0')));
      assert.equal(proofOf(null), null);
      await apply(proved(FIRST, 'one — é\n'), published(SECOND, manifestOf('x', '1.10.0')));
      assert.deepEqual(proofOf('1.9.0'), { version: '1.9.0', base64: base64('one — é\n') });
      assert.equal(proofOf('1.10.0'), null);
      // Of the latest version alone: an older one does not stand in for it.
      assert.equal(proofOf(null), null);
      await apply(proved(SECOND, 'two\n'));
      assert.deepEqual(proofOf(null), { version: '1.10.0', base64: base64('two\n') });
      await apply(withdrawn(SECOND), proved(SECOND, 'too late\n'));
      assert.equal(proofOf('1.10.0'), null);
      assert.deepEqual(proofOf(null), { version: '1.9.0', base64: base64('one — é\n') });
      await apply(published(THIRD, manifestOf('x', '1.9.0')));
      assert.equal(proofOf('1.9.0'), null);
      assert.equal(datasets.proof('y', null), null);
    });

    it('has the checkpoint of the last change', async () => {
      assert.equal(fixture.reader.datasets.checkpoint(), null);
      await apply(checkpointed('old\n'), checkpointed('x'.repeat(LIMITS.logText)));
      assert.equal(fixture.reader.datasets.checkpoint(), base64('x'.repeat(LIMITS.logText)));
      await apply(checkpointed('new\n'), withdrawn(FIRST));
      fixture = await fixture.reopen();
      assert.equal(fixture.reader.datasets.checkpoint(), base64('new\n'));
      await rebuild([]);
      assert.equal(fixture.reader.datasets.checkpoint(), null);
    });

    it('is the same after it was built from a snapshot, with what the log says after it', async () => {
      await apply(itemsAdded(THIRD, item('a', 'gone')), published(THIRD, manifestOf('gone', '1.0.0')));
      await rebuild(
        [
          keyAdded(1, 100),
          itemsAdded(SECOND, item('a', 'two'), item('b', 'two')),
          itemsAdded(FIRST, item('a', 'one')),
          published(SECOND, manifestOf('x', '1.10.0')),
          published(FIRST, manifestOf('x', '1.9.0')),
          itemsAdded(versionIdOf(4), item('a', 'three')),
          checkpointed('old\n'),
          proved(SECOND, 'two\n'),
          proved(FIRST, 'one\n'),
          upserted('a.res.ns.v1'),
        ],
        [
          itemsAdded(versionIdOf(4), item('b', 'three')),
          published(versionIdOf(4), manifestOf('y', '1.0.0')),
          proved(versionIdOf(4), 'three\n'),
          checkpointed('new\n'),
        ],
      );
      assert.equal(latest('gone'), null);
      assert.equal(latest('x'), '1.10.0');
      assert.equal(brand('x', 'b'), 'two');
      assert.equal(brand('y', 'a'), 'three');
      assert.equal(brand('y', 'b'), 'three');
      assert.deepEqual(kids(), [1]);
      const proofs = ['x', 'y'].map((slug) => fixture.reader.datasets.proof(slug, null)?.base64);
      assert.deepEqual(proofs, ['two\n', 'three\n'].map(base64));
      assert.equal(fixture.reader.datasets.checkpoint(), base64('new\n'));
      assert.notEqual(fixture.reader.record('a.res.ns.v1'), null);
      await apply(withdrawn(SECOND));
      assert.equal(brand('x', 'a'), 'one');
      assert.equal(fixture.reader.datasets.proof('x', null)?.base64, base64('one\n'));
    });

    it('outlives the process', async () => {
      await apply(itemsAdded(FIRST, item('a', 'one')), published(FIRST, manifestOf('x', '1.0.0')));
      fixture = await fixture.reopen();
      assert.equal(brand('x', 'a'), 'one');
    });

    it('adds no name to the hosted records', async () => {
      await apply(
        itemsAdded(FIRST, item('a', 'one')),
        published(FIRST, manifestOf('x', '1.0.0')),
        keyAdded(1, 1),
      );
      for (const suffix of ['', 'v1', 'public.v1', 'x.1'])
        assert.equal(fixture.reader.anyBelow(suffix), false);
    });
  });
}
