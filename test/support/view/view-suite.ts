import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { ViewWriter } from '../../../src/feed/ports/view-writer.ts';
import type { AppliedChange, ChangeBody } from '../../../src/protocol/change.ts';
import type { DatasetView, HostedRecord, HostedView } from '../../../src/view/view.ts';
import { payloadText } from './memory-view.ts';
import {
  deleted,
  digestOf,
  minted,
  NAMESPACE_ID,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from './view-changes.ts';

/** A view under test: a writer, and a reader of the same content. */
export interface ViewFixture {
  readonly writer: ViewWriter;
  readonly reader: HostedView & { readonly datasets: DatasetView };
  /** Closes both and opens them again over the same data. */
  reopen(): Promise<ViewFixture>;
  dispose(): Promise<void>;
  /** A copy of the whole view: its path, for one `adopt`. */
  copy(): Promise<string>;
  /** A file that is no view. */
  spoiled(): string;
}

/** What both implementations of the two ports must do alike. */
export function describeView(name: string, open: () => Promise<ViewFixture>): void {
  describe(name, () => {
    let fixture: ViewFixture;
    beforeEach(async () => {
      fixture = await open();
    });
    afterEach(() => fixture.dispose());

    async function apply(changes: readonly AppliedChange[], cursor: number): Promise<void> {
      await fixture.writer.apply(changes, cursor);
      fixture.reader.refresh();
    }
    const text = (key: string): string | null => payloadText(fixture.reader.record(key));
    const stored = (key: string): HostedRecord => {
      const record = fixture.reader.record(key);
      assert.ok(record !== null && record !== 'withheld');
      return record;
    };

    it('holds nothing at first', () => {
      assert.equal(fixture.writer.cursor(), null);
      assert.equal(fixture.reader.namespace('ns'), null);
      assert.equal(fixture.reader.token(digestOf('t')), null);
      assert.equal(fixture.reader.record('res.ns.v1'), null);
      assert.equal(fixture.reader.anyBelow(''), false);
    });

    it('puts, replaces and deletes a record', async () => {
      const key = 'a.b.res.ns.v1';
      const expiresAt = 253_402_300_799_999;
      await apply(
        [upserted(key, '{}', { contentType: 'application/json', ttlSeconds: 2_147_483_647, expiresAt })],
        1,
      );
      const { data, ...rest } = stored(key);
      assert.equal(Buffer.from(data).toString(), '{}');
      assert.deepEqual(rest, { plain: false, format: 'json', ttlSeconds: 2_147_483_647, expiresAt });
      await apply([upserted(key, '', { ttlSeconds: 0 })], 2);
      const replaced = stored(key);
      assert.equal(replaced.data.length, 0);
      assert.deepEqual([replaced.format, replaced.ttlSeconds, replaced.expiresAt], ['text', 0, null]);
      await apply([upserted(key, '', { encoding: 'plain' })], 3);
      assert.equal(stored(key).plain, true);
      await apply([deleted(key)], 4);
      assert.equal(fixture.reader.record(key), null);
      await apply([deleted(key)], 5);
      assert.equal(fixture.writer.cursor(), 5);
    });

    it('keeps what it returned when the next read comes', async () => {
      await apply([upserted('a.res.ns.v1', 'first'), upserted('b.res.ns.v1', 'other')], 1);
      const first = stored('a.res.ns.v1');
      fixture.reader.record('b.res.ns.v1');
      assert.equal(Buffer.from(first.data).toString(), 'first');
    });

    it('holds the largest payload and the longest key', async () => {
      const largest = 'x'.repeat(2586);
      const longest = `${'p'.repeat(63)}.${'q'.repeat(63)}.${'r'.repeat(63)}.ns.v1`;
      await apply([upserted(longest, largest)], 1);
      assert.equal(text(longest), largest);
      assert.equal(fixture.reader.record(`x${longest}`), null);
      assert.equal(fixture.reader.record('x'.repeat(300)), null);
    });

    it('applies changes in their order', async () => {
      await apply(
        [
          upserted('res.ns.v1', '1'),
          upserted('res.ns.v1', '22'),
          deleted('res.ns.v1'),
          upserted('res.ns.v1', '3'),
        ],
        4,
      );
      assert.equal(text('res.ns.v1'), '3');
    });

    it('withholds a record whose payload was erased, until a later change has another one or deletes it', async () => {
      const erased = (key: string): ChangeBody => upserted(key, '', { data: null });
      await apply([upserted('res.ns.v1', 'old'), erased('res.ns.v1'), erased('new.ns.v1')], 3);
      const texts = (): unknown => [text('res.ns.v1'), text('new.ns.v1')];
      assert.deepEqual(texts(), ['withheld', 'withheld']);
      assert.equal(fixture.reader.anyBelow('new.ns.v1'), true);
      await apply([erased('res.ns.v1')], 4);
      fixture = await fixture.reopen();
      assert.deepEqual(texts(), ['withheld', 'withheld']);
      await apply([deleted('new.ns.v1'), upserted('res.ns.v1', 'later')], 6);
      assert.deepEqual(texts(), ['later', null]);
      assert.equal(fixture.reader.anyBelow('new.ns.v1'), false);
      await apply([erased('new.ns.v1'), namespaceDeleted('ns')], 8);
      assert.deepEqual(texts(), [null, null]);
    });

    it('keeps both flags of a namespace', async () => {
      for (const [i, [publicRead, suspended]] of [
        [false, false],
        [true, false],
        [false, true],
        [true, true],
      ].entries()) {
        await apply([namespaceUpserted('ns', publicRead, suspended)], i);
        assert.deepEqual({ ...fixture.reader.namespace('ns') }, { id: NAMESPACE_ID, publicRead, suspended });
      }
      assert.equal(fixture.reader.namespace('n'), null);
      assert.equal(fixture.reader.namespace('ns2'), null);
    });

    it('finds tokens by digest until they are revoked', async () => {
      await apply([minted('ns', 'one', 123), minted('other', 'two', 456)], 2);
      assert.deepEqual(fixture.reader.token(digestOf('one')), { namespace: 'ns', expiresAt: 123 });
      assert.deepEqual(fixture.reader.token(digestOf('two')), { namespace: 'other', expiresAt: 456 });
      assert.equal(fixture.reader.token('00'), null);
      await apply([revoked('ns', 'one'), revoked('ns', 'never')], 4);
      assert.equal(fixture.reader.token(digestOf('one')), null);
      assert.notEqual(fixture.reader.token(digestOf('two')), null);
    });

    it('drops a namespace with all its tokens and records, and nothing else', async () => {
      const others = ['res.ns-2.v1', 'res.ns2.v1', 'res.n.v1', 'ns.other.v1'];
      await apply(
        [
          ...['ns', 'ns-2', 'ns2', 'n', 'other'].map((name) => namespaceUpserted(name)),
          ...['res.ns.v1', 'a.res.ns.v1', 'res.ns.v2', ...others].map((key) => upserted(key)),
          ...['ns', 'ns-2', 'ns2', 'n'].map((name) => minted(name, `token of ${name}`)),
        ],
        1,
      );
      await apply([namespaceDeleted('ns')], 2);
      assert.equal(fixture.reader.namespace('ns'), null);
      assert.equal(fixture.reader.token(digestOf('token of ns')), null);
      for (const key of ['res.ns.v1', 'a.res.ns.v1', 'res.ns.v2']) assert.equal(text(key), null, key);
      assert.equal(fixture.reader.anyBelow('ns.v1'), false);
      assert.equal(fixture.reader.anyBelow('v2'), false);
      for (const name of ['ns-2', 'ns2', 'n']) {
        assert.notEqual(fixture.reader.namespace(name), null, name);
        assert.notEqual(fixture.reader.token(digestOf(`token of ${name}`)), null, name);
      }
      for (const key of others) assert.equal(text(key), key);
    });

    it('lets a token go with the namespace it belongs to now', async () => {
      await apply([minted('ns', 'moved'), minted('other', 'moved')], 2);
      await apply([namespaceDeleted('ns')], 3);
      assert.equal(fixture.reader.token(digestOf('moved'))?.namespace, 'other');
      await apply([namespaceDeleted('other')], 4);
      assert.equal(fixture.reader.token(digestOf('moved')), null);
    });

    it('drops a large namespace', async () => {
      const keys = Array.from({ length: 2500 }, (_, i) => `k${i}.res.ns.v1`);
      await apply([upserted('res.nt.v1'), ...keys.map((key) => upserted(key))], 1);
      await apply([namespaceDeleted('ns')], 2);
      assert.equal(fixture.reader.anyBelow('ns.v1'), false);
      assert.equal(text('res.nt.v1'), 'res.nt.v1');
    });

    const BELOW: readonly (readonly [records: readonly string[], suffix: string, found: boolean])[] = [
      [['res.ns.v1'], 'res.ns.v1', true],
      [['res.ns.v1'], 'ns.v1', true],
      [['res.ns.v1'], 'v1', true],
      [['res.ns.v1'], '', true],
      [['a.res.ns.v1'], 'res.ns.v1', true],
      [['a.b.res.ns.v1'], 'b.res.ns.v1', true],
      [['a.b.res.ns.v1'], 'a.res.ns.v1', false],
      [['res.ns.v1'], 'a.res.ns.v1', false],
      [['res2.ns.v1'], 'res.ns.v1', false],
      [['res-2.ns.v1'], 'res.ns.v1', false],
      [['res.ns.v1'], 'res2.ns.v1', false],
      [['res-0.ns.v1', 'a.res.ns.v1'], 'res.ns.v1', true],
      [['a-b.res.ns.v1'], 'b.res.ns.v1', false],
      [['a.b.res.ns.v1'], 'a-b.res.ns.v1', false],
      [['a-b.res.ns.v1', 'b.res.ns.v1'], 'a.res.ns.v1', false],
      [['res.ns-2.v1'], 'ns.v1', false],
      [['res.ns2.v1'], 'ns.v1', false],
      [['res.ns.v1'], 'ns.v2', false],
      [['res.ns.v1'], 'ns.v10', false],
      [['res.ns.v10'], 'ns.v1', false],
      [['res.ns.v10'], 'v1', false],
      [['res.ns.v1'], 'v10', false],
      [['v1.ns.v2'], 'v1', false],
      [['res.zz.v1'], 'aa.v1', false],
      [['res.aa.v1'], 'zz.v1', false],
      [['res.ns.v1'], 'ns', false],
      [[], 'ns.v1', false],
    ];
    for (const [records, suffix, found] of BELOW) {
      it(`finds ${found ? 'something' : 'nothing'} below '${suffix}' in [${records.join(' ')}]`, async () => {
        await apply([namespaceUpserted('v1'), minted('v1', 't'), ...records.map((key) => upserted(key))], 1);
        assert.equal(fixture.reader.anyBelow(suffix), found);
      });
    }

    it('finds nothing below a version once its last record is gone', async () => {
      await apply([upserted('a.res.ns.v2'), upserted('b.res.ns.v2'), upserted('res.other.v2')], 1);
      for (const [key, rest] of [
        ['a.res.ns.v2', true],
        ['res.other.v2', true],
        ['b.res.ns.v2', false],
      ] as const) {
        await apply([deleted(key)], 2);
        assert.equal(fixture.reader.anyBelow('v2'), rest);
      }
    });

    it('rebuilds beside the view that serves, and replaces it in one step', async () => {
      const { writer, reader } = fixture;
      await apply([namespaceUpserted('old'), minted('old', 'old'), upserted('res.old.v1')], 9);
      const rebuild = await writer.rebuild();
      await rebuild.load([namespaceUpserted('ns'), minted('ns', 'new')]);
      const keys = Array.from({ length: 5000 }, (_, i) => `k${(i * 7919) % 5000}.res.ns.v1`);
      for (let from = 0; from < keys.length; from += 500) {
        await rebuild.load(keys.slice(from, from + 500).map((key) => upserted(key)));
      }
      await rebuild.load([upserted('k1.res.ns.v1', 'twice: the later one counts')]);
      reader.refresh();
      assert.equal(reader.namespace('ns'), null);
      assert.equal(text('res.old.v1'), 'res.old.v1', 'the old view serves meanwhile');
      assert.equal(writer.cursor(), 9);
      await rebuild.finish([deleted('k0.res.ns.v1'), namespaceUpserted('ns', true)], 20, 'an epoch');
      reader.refresh();
      assert.equal(writer.cursor(), 20);
      assert.equal(writer.epoch(), 'an epoch');
      assert.equal(reader.namespace('old'), null);
      assert.equal(reader.token(digestOf('old')), null);
      assert.equal(text('res.old.v1'), null);
      assert.deepEqual(
        { ...reader.namespace('ns') },
        { id: NAMESPACE_ID, publicRead: true, suspended: false },
      );
      assert.equal(reader.token(digestOf('new'))?.namespace, 'ns');
      assert.equal(text('k0.res.ns.v1'), null);
      assert.equal(text('k1.res.ns.v1'), 'twice: the later one counts');
      for (const key of keys.slice(2)) {
        if (key !== 'k0.res.ns.v1' && key !== 'k1.res.ns.v1') assert.equal(text(key), key);
      }
      await apply([upserted('later.ns.v1')], 21);
      assert.equal(text('later.ns.v1'), 'later.ns.v1');
    });

    async function rebuildWith(changes: readonly AppliedChange[], cursor: number): Promise<void> {
      const rebuild = await fixture.writer.rebuild();
      await rebuild.load(changes);
      await rebuild.finish([], cursor, 'an epoch');
      fixture.reader.refresh();
    }

    it('rebuilds from nothing', async () => {
      await rebuildWith([], 0);
      assert.equal(fixture.writer.cursor(), 0);
      assert.equal(fixture.reader.anyBelow(''), false);
    });

    it('takes only upserts for a rebuild', async () => {
      const rebuild = await fixture.writer.rebuild();
      await assert.rejects(rebuild.load([deleted('res.ns.v1')]), RangeError);
      await assert.rejects(rebuild.load([namespaceDeleted('ns')]), RangeError);
      await rebuild.discard();
    });

    it('goes on as it is when a rebuild is given up, and begins the next one from nothing', async () => {
      await apply([upserted('res.old.v1')], 5);
      const half = await fixture.writer.rebuild();
      await half.load([namespaceUpserted('half'), upserted('res.half.v1')]);
      await half.discard();
      assert.equal(fixture.writer.cursor(), 5);
      assert.equal(text('res.old.v1'), 'res.old.v1');
      await rebuildWith([namespaceUpserted('ns')], 7);
      assert.equal(fixture.reader.namespace('half'), null);
      assert.equal(text('res.half.v1'), null);
      assert.notEqual(fixture.reader.namespace('ns'), null);
    });

    it('has the TTL of an open namespace, which is a minute where nobody chose', async () => {
      await apply([namespaceUpserted('ns', true, false, NAMESPACE_ID, 86_400)], 2);
      assert.equal(fixture.reader.maxTtl('ns'), 86_400);
      await apply([namespaceDeleted('ns')], 4);
      assert.equal(fixture.reader.maxTtl('ns'), 60);
    });

    it('keeps everything over a restart', async () => {
      await apply([namespaceUpserted('ns', true), minted('ns', 't'), upserted('res.ns.v1')], 42);
      fixture = await fixture.reopen();
      assert.equal(fixture.writer.cursor(), 42);
      assert.equal(text('res.ns.v1'), 'res.ns.v1');
      assert.equal(fixture.reader.namespace('ns')?.publicRead, true);
      assert.equal(fixture.reader.token(digestOf('t'))?.namespace, 'ns');
    });

    it('keeps its epoch over changes and a restart', async () => {
      assert.equal(fixture.writer.epoch(), null);
      await rebuildWith([upserted('res.ns.v1')], 3);
      await apply([upserted('other.ns.v1')], 4);
      fixture = await fixture.reopen();
      assert.equal(fixture.writer.epoch(), 'an epoch');
      assert.equal(fixture.writer.cursor(), 4);
      assert.equal(fixture.writer.isLost(), false);
    });

    it('keeps the view that served when a restart cuts a rebuild short', async () => {
      await rebuildWith([upserted('res.ns.v1')], 42);
      const half = await fixture.writer.rebuild();
      await half.load([namespaceUpserted('half')]);
      fixture = await fixture.reopen();
      assert.equal(fixture.writer.cursor(), 42);
      assert.equal(text('res.ns.v1'), 'res.ns.v1');
      assert.equal(fixture.reader.namespace('half'), null);
    });
  });
}
