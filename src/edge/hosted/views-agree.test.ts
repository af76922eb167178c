import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { createMemoryView } from '../../../test/support/edge/hosted/memory-view.ts';
import {
  deleted,
  digestOf,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/edge/hosted/view-changes.ts';
import type { ChangeBody } from '../../core/change.ts';
import type { ViewWriter } from '../../feed/view-writer.ts';
import { openLmdbReader } from './lmdb/reader.ts';
import { openLmdbWriter } from './lmdb/writer.ts';
import type { HostedView } from './view.ts';

it('the LMDB view holds after any sequence of changes what the memory view holds', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'views-agree-'));
  const path = join(directory, 'view');
  const writer = openLmdbWriter({ path, wipeAfterMs: 0, sortBytes: 4096 });
  const reader = openLmdbReader({ path });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const memory = createMemoryView();
      await rebuild(memory, [], 0);
      await rebuild(writer, [], 0);
      let cursor = 0;
      for (const { kind, changes } of steps) {
        for (const view of [memory, writer]) {
          if (kind === 'apply') await view.apply(changes, cursor);
          else await rebuild(view, changes, cursor);
        }
        cursor++;
        reader.refresh();
        assert.equal(writer.cursor(), memory.cursor());
        assert.deepEqual(contents(reader), contents(memory));
      }
    }),
    { numRuns: 150 },
  );
  await reader.close();
  await writer.close();
  rmSync(directory, { recursive: true, force: true });
});
async function rebuild(view: ViewWriter, changes: readonly ChangeBody[], cursor: number): Promise<void> {
  const isUpsert = ({ type }: ChangeBody): boolean => /upserted|minted/.test(type);
  const next = await view.rebuild();
  await next.load(changes.filter(isUpsert));
  await next.finish(
    changes.filter((change) => !isUpsert(change)),
    cursor,
    'an epoch',
  );
}

const NAMES = ['ns', 'ns-2', 'ns2'];
const VERSIONS = ['v1', 'v10', 'v2'];
const RESOURCES = ['res', 'res-2', 'res2', 'ns', 'v1'];
const PARAMS = ['', 'a.', 'a-b.', 'a.b.', 'b.'];
const TOKENS = ['one', 'two', 'three'];
const KEYS = PARAMS.flatMap((params) =>
  RESOURCES.flatMap((resource) =>
    NAMES.flatMap((name) => VERSIONS.map((version) => `${params}${resource}.${name}.${version}`)),
  ),
);
const SUFFIXES = [
  ...new Set(KEYS.flatMap((key) => key.split('.').map((_, i, labels) => labels.slice(i).join('.')))),
];

const key = fc.constantFrom(...KEYS);
const name = fc.constantFrom(...NAMES);
const token = fc.constantFrom(...TOKENS);
const change: fc.Arbitrary<ChangeBody> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        key,
        fc.string({ maxLength: 40 }),
        fc.record({
          contentType: fc.constantFrom('text/plain', 'application/json', 'x/y'),
          ttlSeconds: fc.constantFrom(0, 300, 2_147_483_647),
          expiresAt: fc.option(fc.maxSafeNat().map((ms) => ms % 253_402_300_800_000)),
        }),
      )
      .map(([at, text, rest]) => upserted(at, text, rest)),
  },
  { weight: 1, arbitrary: key.map((at) => upserted(at, '', { data: null })) },
  { weight: 4, arbitrary: key.map(deleted) },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.boolean(), fc.boolean()).map((flags) => namespaceUpserted(...flags)),
  },
  { weight: 1, arbitrary: name.map(namespaceDeleted) },
  { weight: 2, arbitrary: fc.tuple(name, token, fc.nat()).map((of) => minted(...of)) },
  { weight: 1, arbitrary: fc.tuple(name, token).map((of) => revoked(...of)) },
);
const step = fc.record({
  kind: fc.constantFrom('apply', 'apply', 'apply', 'rebuild'),
  changes: fc.array(change, { maxLength: 30 }),
});

function contents(view: HostedView): unknown {
  return {
    namespaces: NAMES.map((at) => ({ ...view.namespace(at) })),
    tokens: TOKENS.map((at) => view.token(digestOf(at))),
    records: KEYS.map((at) => {
      const record = view.record(at);
      return record === null ? null : { ...record, data: Buffer.from(record.data).toString('hex') };
    }),
    below: SUFFIXES.filter((suffix) => view.anyBelow(suffix)),
  };
}
