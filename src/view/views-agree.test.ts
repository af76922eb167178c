import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import {
  checkpointed,
  facts,
  itemsAdded,
  keyAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
  withdrawn,
} from '../../test/support/view/datasets/dataset-changes.ts';
import { createMemoryView } from '../../test/support/view/memory-view.ts';
import {
  deleted,
  digestOf,
  expired,
  minted,
  NAMESPACE_ID,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../test/support/view/view-changes.ts';
import { LIMITS } from '../base/limits.ts';
import type { ViewWriter } from '../feed/ports/view-writer.ts';
import type { AppliedChange, ChangeBody } from '../protocol/change.ts';
import { openLmdbReader } from './reader.ts';
import type { DatasetView, HostedView } from './view.ts';
import { openLmdbWriter } from './writer.ts';

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
      const gone = new Set<string>();
      for (const { kind, changes: drawn } of steps) {
        const changes = drawn.filter((change) => isOfOneLife(change, gone));
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

/** An id is of one version, and is not used again after its withdrawal. */
function isOfOneLife(change: ChangeBody, gone: Set<string>): boolean {
  if (!('versionId' in change)) return true;
  if (change.type === 'dataset.withdrawn') gone.add(change.versionId);
  return change.type === 'dataset.withdrawn' || !gone.has(change.versionId);
}

async function rebuild(view: ViewWriter, changes: readonly ChangeBody[], cursor: number): Promise<void> {
  const isUpsert = (change: ChangeBody): boolean =>
    /upserted|minted|items|published|key|^log/.test(change.type) &&
    !('data' in change && change.data === null);
  const next = await view.rebuild();
  await next.load(changes.filter(isUpsert));
  const later = changes.filter((change) => !isUpsert(change));
  const half = later.length >> 1;
  if (half > 0) await next.apply(later.slice(0, half), cursor);
  await next.finish(later.slice(half), cursor, 'an epoch');
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

const SLUGS = ['x', 'x-1'];
const ITEMS = ['a', 'a-1', 'b'];
const MANIFESTS = SLUGS.flatMap((slug) =>
  ['1.2.0', '1.10.0', '0.9.9'].map((text, i) => manifestOf(slug, text, 1 + (i % 2))),
);
const note = fc.constantFrom('one\n', 'two — é\n', 'x'.repeat(LIMITS.logText));
const version = fc.nat({ max: MANIFESTS.length - 1 });

/** Near the end of a period: some of it is remembered in the next one. */
const EXPIRED_AT = 600_000 * 3_000_000 - 2;
const key = fc.constantFrom(...KEYS);
const name = fc.constantFrom(...NAMES);
const token = fc.constantFrom(...TOKENS);
const change: fc.Arbitrary<AppliedChange> = fc.oneof(
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
  { weight: 2, arbitrary: key.map((at) => expired(at, EXPIRED_AT)) },
  {
    weight: 1,
    arbitrary: key.map((at): AppliedChange => ({ ...deleted(at), at: EXPIRED_AT + 5, cause: 'direct' })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(name, fc.boolean(), fc.boolean(), fc.constant(NAMESPACE_ID), fc.integer({ min: 1, max: 86_400 }))
      .map((of) => namespaceUpserted(...of)),
  },
  { weight: 1, arbitrary: name.map(namespaceDeleted) },
  { weight: 2, arbitrary: fc.tuple(name, token, fc.nat()).map((of) => minted(...of)) },
  { weight: 1, arbitrary: fc.tuple(name, token).map((of) => revoked(...of)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(version, fc.constantFrom(...ITEMS), fc.nat())
      .map(([n, item, to]) => itemsAdded(versionIdOf(n), { item, windows: [facts(null, to)] })),
  },
  { weight: 3, arbitrary: version.map((n) => published(versionIdOf(n), MANIFESTS[n]!)) },
  { weight: 2, arbitrary: version.map((n) => withdrawn(versionIdOf(n))) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(1, 2), fc.nat({ max: 9 })).map((of) => keyAdded(...of)) },
  { weight: 2, arbitrary: fc.tuple(version, note).map(([n, text]) => proved(versionIdOf(n), text)) },
  { weight: 1, arbitrary: note.map(checkpointed) },
);
const step = fc.record({
  kind: fc.constantFrom('apply', 'apply', 'apply', 'rebuild'),
  changes: fc.array(change, { maxLength: 30 }),
});

function contents(view: HostedView & { readonly datasets: DatasetView }): unknown {
  const { datasets } = view;
  return {
    keys: datasets
      .keys()
      .map((found) => ({ ...found, publicKey: Buffer.from(found.publicKey).toString('hex') })),
    checkpoint: datasets.checkpoint(),
    datasets: SLUGS.map((slug) => [
      datasets.manifest(slug, null),
      datasets.proof(slug, null),
      ...MANIFESTS.map(({ version: at }) => [datasets.manifest(slug, at), datasets.proof(slug, at)]),
      ...ITEMS.map((item) => datasets.identity(slug, item)),
    ]),
    namespaces: NAMES.map((at) => ({ ...view.namespace(at) })),
    tokens: TOKENS.map((at) => view.token(digestOf(at))),
    records: KEYS.map((at) => {
      const record = view.record(at);
      return record === null || record === 'withheld'
        ? record
        : { ...record, data: Buffer.from(record.data).toString('hex') };
    }),
    maxTtls: NAMES.map((at) => view.maxTtl(at)),
    expired: KEYS.filter((at) => view.hasExpired(at, NAMESPACE_ID, EXPIRED_AT + 600_000)),
    below: SUFFIXES.filter((suffix) => view.anyBelow(suffix)),
  };
}
