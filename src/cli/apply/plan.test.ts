import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  bulkOf,
  countsOf,
  doneLine,
  namingKeys,
  type PresentRecord,
  planLines,
  planOf,
  settingsLines,
  tooManyDeletions,
  type WantedRecord,
} from './plan.ts';

const RESOURCES = ['flags', 'greeting'] as const;
const key = fc
  .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(...RESOURCES), fc.constantFrom('v1', 'v2'))
  .map(([name, resource, version]) => `${name}.${resource}.shop.${version}`);
const value = fc.record({
  data: fc.constantFrom('', 'x', 'yy').map((text) => Buffer.from(text)),
  contentType: fc.constantFrom('text/plain', 'application/json'),
  ttlSeconds: fc.constantFrom(60, 300),
});
const wanted: fc.Arbitrary<WantedRecord[]> = fc.uniqueArray(
  fc
    .tuple(key, value, fc.constantFrom(null, 60), fc.constantFrom(null, false, true))
    .map(([name, rest, expiresIn, plain]) => ({ key: name, ...rest, plain, expiresIn })),
  { selector: (one) => one.key },
);
const present: fc.Arbitrary<PresentRecord[]> = fc.uniqueArray(
  fc
    .tuple(key, value, fc.boolean(), fc.boolean())
    .map(([name, rest, plain, expires]) => ({ key: name, ...rest, plain, expires, updatedAt: `at-${name}` })),
  { selector: (one) => one.key },
);

/** What the namespace holds after the bulk write of a plan. */
function carriedOut(
  before: readonly PresentRecord[],
  body: ReturnType<typeof bulkOf>,
): Map<string, PresentRecord> {
  const after = new Map(before.map((record) => [record.key, record]));
  const check = (name: string, condition: unknown): void =>
    assert.equal(condition, after.get(name)?.updatedAt ?? null, name);
  // biome-ignore lint/suspicious/noExplicitAny: bodies as they are sent
  for (const item of body.delete as any[]) {
    check(item.key, item.if_updated_at);
    assert.ok(after.delete(item.key));
  }
  // biome-ignore lint/suspicious/noExplicitAny: bodies as they are sent
  for (const item of body.put as any[]) {
    check(item.key, item.if_updated_at);
    after.set(item.key, {
      key: item.key,
      data: Buffer.from(item.data, 'base64'),
      contentType: item.content_type,
      plain: item.encoding === 'plain',
      ttlSeconds: item.ttl_seconds,
      expires: item.expires_in !== undefined,
      updatedAt: 'now',
    });
  }
  return after;
}

describe('a plan', () => {
  it('carried out makes what is wanted, touches nothing else, and leaves nothing to do', () => {
    fc.assert(
      fc.property(wanted, present, fc.boolean(), (want, have, prune) => {
        const plan = planOf(want, have, { prune });
        const after = carriedOut(have, bulkOf(plan.steps));
        for (const record of want) {
          const got = after.get(record.key)!;
          const plain = record.plain ?? have.some((old) => old.key === record.key && old.plain);
          assert.deepEqual(
            [got.data, got.contentType, got.plain, got.ttlSeconds, got.expires],
            [record.data, record.contentType, plain, record.ttlSeconds, record.expiresIn !== null],
          );
        }
        const groups = new Set(want.map((record) => record.key.split('.').slice(1).join('.')));
        for (const record of have) {
          if (want.some((one) => one.key === record.key)) continue;
          const mayGo = prune && !record.expires && groups.has(record.key.split('.').slice(1).join('.'));
          assert.equal(after.get(record.key), mayGo ? undefined : record);
        }
        const again = planOf(want, [...after.values()], { prune });
        assert.deepEqual([again.steps, again.unchanged], [[], want.length]);
      }),
      { numRuns: 500 },
    );
  });

  it('is shown with a line for each step and the counts', () => {
    const settings = { contentType: 'text/plain', ttlSeconds: 300 };
    const record = (name: string, size: number): WantedRecord => ({
      key: `${name}.flags.shop.v1`,
      data: Buffer.alloc(size),
      ...settings,
      plain: null,
      expiresIn: null,
    });
    const stored = (name: string, size: number): PresentRecord => ({
      ...record(name, size),
      plain: false,
      expires: false,
      updatedAt: 'at',
    });
    const plan = planOf(
      [
        record('dark-mode', 219),
        record('new', 88),
        record('same', 1),
        { ...record('typed', 5), ttlSeconds: 5 },
      ],
      [stored('dark-mode', 214), stored('same', 1), stored('gone', 12), stored('typed', 5)],
      { prune: true },
    );
    assert.deepEqual(planLines(plan), [
      '~ dark-mode.flags.shop.v1   214 -> 219 bytes',
      '- gone.flags.shop.v1        12 bytes',
      '+ new.flags.shop.v1         88 bytes',
      '~ typed.flags.shop.v1       5 bytes, other settings',
      '2 changed, 1 new, 1 to delete, 1 unchanged',
    ]);
    assert.deepEqual(countsOf(plan), { changed: 2, added: 1, deleted: 1, unchanged: 1 });
    assert.equal(doneLine(plan), 'Written: 2 changed, 1 new, 1 deleted');
    assert.deepEqual(plan.steps.map(settingsLines), [[], [], [], ['ttl_seconds 300 -> 5']]);
  });

  it('writes a value that is to be encrypted and is not, or the other way, although nothing else differs', () => {
    const one = {
      key: 'logo.files.shop.v1',
      data: Buffer.from('x'),
      contentType: 'application/octet-stream',
      ttlSeconds: 300,
    };
    for (const [is, shall] of [
      [false, true],
      [true, false],
      [true, true],
      [false, false],
    ] as const) {
      const wantedOne = { ...one, plain: null, expiresIn: null, isEncrypted: shall };
      const stored = { ...one, plain: false, expires: false, updatedAt: 'at', isEncrypted: is };
      const { steps } = planOf([wantedOne], [stored], { prune: false });
      const words = shall ? 'not encrypted -> encrypted' : 'encrypted -> not encrypted';
      assert.deepEqual(steps.map(settingsLines), is === shall ? [] : [[words]]);
    }
  });

  it('keeps plain text where the settings say nothing, as long as the data may have it', () => {
    const of = (text: string, plain: boolean | null): WantedRecord => {
      const rest = { contentType: 'text/plain', ttlSeconds: 300, expiresIn: null };
      return { key: 'a.shop.v1', data: Buffer.from(text), plain, ...rest };
    };
    const have = (text: string, plain: boolean) => [
      { ...of(text, null), plain, expires: false, updatedAt: 'at' },
    ];
    const written = (want: WantedRecord, present: PresentRecord[]): (string | undefined)[] =>
      bulkOf(planOf([want], present, { prune: false }).steps).put.map(({ encoding }) => encoding);
    assert.deepEqual(written(of('a', null), []), [undefined]);
    assert.deepEqual(written(of('a', true), []), ['plain']);
    assert.deepEqual(written(of('a', null), have('a', true)), []);
    assert.deepEqual(written(of('b', null), have('a', true)), ['plain']);
    assert.deepEqual(written(of('b\n', null), have('a', true)), [undefined]);
    assert.deepEqual(written(of('a', false), have('a', true)), [undefined]);
    assert.deepEqual(written({ ...of('b', null), isEncrypted: true }, have('a', true)), [undefined]);
    const [step] = planOf([of('a', true)], have('a', false), { prune: false }).steps;
    assert.deepEqual(settingsLines(step!), ['encoding b64 -> plain']);
  });

  it('deletes ten, or a fifth, without consent, and never more than was allowed', () => {
    const have = (count: number): PresentRecord[] =>
      Array.from({ length: count }, (_, i) => ({
        key: `k${i}.flags.shop.v1`,
        data: Buffer.alloc(0),
        contentType: 'text/plain',
        plain: false,
        ttlSeconds: 300,
        expires: false,
        updatedAt: 'at',
      }));
    const deleting = (count: number, all: number) =>
      planOf(
        have(all)
          .slice(count)
          .map((record) => ({ ...record, expiresIn: null })),
        have(all),
        { prune: true },
      );
    assert.equal(tooManyDeletions(deleting(10, 12), null), null);
    assert.equal(tooManyDeletions(deleting(11, 55), null), null);
    assert.match(tooManyDeletions(deleting(11, 54), null)!, /^11 of 54 records would be deleted/);
    assert.equal(tooManyDeletions(deleting(11, 54), 11), null);
    assert.match(tooManyDeletions(deleting(3, 54), 2)!, /--max-deletes allows 2/);
  });

  it('names the key of a lost race', () => {
    const item = { data: '', content_type: 'text/plain', ttl_seconds: 60, if_updated_at: null };
    const bulk = {
      put: ['a', 'b'].map((name) => ({ ...item, key: `${name}.flags.shop.v1` })),
      delete: [{ key: 'c.flags.shop.v1', if_updated_at: 't' }],
    };
    for (const [told, expected] of [
      ['records[1] has changed', 'b.flags.shop.v1 has changed'],
      ['delete[0] has changed', 'c.flags.shop.v1 has changed'],
      ['delete[1] has changed', 'delete[1] has changed'],
      ['records[0].data is not strict Base64', 'records[0].data is not strict Base64'],
    ] as const) {
      assert.equal(namingKeys(told, bulk), expected);
    }
  });
});
