import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  assertWhole,
  type LogWorld,
  leavesIn,
  withLog,
} from '../../../test/support/control/transparency/log-world.ts';
import { itemLines, newKey } from '../../../test/support/store/dataset-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { InputError } from '../../base/errors.ts';
import { transparencyRules } from '../../protocol/transparency/entries.ts';
import { parseNote, printNote } from '../../protocol/transparency/note.ts';
import { encodeEntries, parseTilePath, TILE_WIDTH } from '../../protocol/transparency/tiles.ts';
import { findKey } from '../../store/datasets.ts';
import { lastPublishedCheckpoint, lastSignedCheckpoint } from '../../store/transparency.ts';
import { publishOwnKeys } from '../datasets/keys.ts';
import { listDatasets, retireDataset } from '../datasets/versions.ts';
import { appendMissing } from './missing.ts';
import { type LogSource, recoverLog } from './recover.ts';

const TURN_OVER = 60_001;

/** What a monitor has of the published log. */
async function copyOf({ store }: LogWorld): Promise<LogSource> {
  const { note, size } = (await lastPublishedCheckpoint(store.read))!;
  const leaves = (await leavesIn(store)).slice(0, size).map((leaf) => Buffer.from(leaf));
  return {
    async read(path) {
      if (path === 'checkpoint') return Buffer.from(note);
      const { n, width } = parseTilePath(path)!;
      return encodeEntries(leaves.slice(n * TILE_WIDTH, n * TILE_WIDTH + width));
    },
  };
}

/** Puts back a backup: all tables of datasets and of the log as they were. */
async function backupOf({ store }: LogWorld): Promise<() => Promise<void>> {
  const tables = [
    'dataset_versions',
    'dataset_parts',
    'dataset_keys',
    'log_head',
    'log_entries',
    'log_tiles',
    'log_checkpoints',
  ];
  await store.write(async (tx) => {
    for (const table of tables)
      await tx.execute(`create table backup_${table} as select * from ${table}`, []);
  });
  return () =>
    store.write(async (tx) => {
      for (const table of tables.toReversed()) await tx.execute(`delete from ${table}`, []);
      for (const table of tables) await tx.execute(`insert into ${table} select * from backup_${table}`, []);
    });
}

onEachEngine((create) => {
  describe('a log after a restore', () => {
    it('signs nothing, takes back what was lost, and goes on with the same witnesses', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const deps = { store, clock: () => world.time, isLogged: true };
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        const restore = await backupOf(world);
        await world.publish('1.1.0');
        await retireDataset(deps, 'demo', '1.0.0');
        await world.settle();
        const published = await world.published();
        const monitor = await copyOf(world);
        await restore();
        await world.publish('2.0.0');
        world.time += TURN_OVER;
        const signer = world.signerOf(store);
        await signer.pass();
        assert.equal(signer.report().state, 'behind');
        assert.equal((await lastSignedCheckpoint(store.read))!.size, 2, 'nothing is signed');
        const { head: before } = await store.changes.bounds();
        const recovered = await recoverLog({ ...deps, policy: world.policy, key: world.keys.key! }, monitor);
        assert.deepEqual(recovered, {
          size: 4,
          entries: 2,
          missing: ['demo@1.1.0'],
          retired: ['demo@1.0.0'],
          replaced: [],
        });
        assert.equal(await world.published(), published);
        // Nodes hear of it at once.
        const { head, epoch } = await store.changes.bounds();
        const changes = await store.changes.since(epoch, before, head);
        const told = changes.flatMap((change) =>
          change.type === 'log.checkpoint' ? [change.checkpoint] : [],
        );
        assert.equal(told.at(-1), (await lastPublishedCheckpoint(store.read))!.note);
        const served = (await listDatasets(deps)).map(({ manifest }) => manifest.version);
        assert.deepEqual(served, ['2.0.0']);
        world.time += TURN_OVER;
        await world.settle(signer);
        assert.equal(signer.report().state, 'current');
        assert.equal(
          await world.published(),
          5,
          'our entry that was not signed is behind the recovered ones',
        );
        await assertWhole(store);
        for (const witness of world.witnesses) assert.equal(witness.size, 5);
        await retireDataset(deps, 'demo', '1.1.0');
        assert.match((await leavesIn(store)).at(-1)!, /;ev=retired;ds=demo;ver=1\.1\.0;/);
      }));

    it('takes the same files again without another entry, and no other files under their number', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const deps = { store, clock: () => world.time, isLogged: true };
        await world.init();
        const restore = await backupOf(world);
        const files = world.datasets.sign('1.0.0', itemLines(2));
        await world.datasets.import(store, files, {}, { isLogged: true });
        await world.settle();
        const monitor = await copyOf(world);
        await restore();
        await recoverLog({ ...deps, policy: world.policy, key: world.keys.key! }, monitor);
        const other = world.datasets.sign('1.0.0', itemLines(3));
        await assert.rejects(
          world.datasets.import(store, other, {}, { isLogged: true }),
          /in the transparency log with another manifest/,
        );
        await world.datasets.import(store, files, {}, { isLogged: true });
        assert.equal((await leavesIn(store)).length, 2);
        world.time += TURN_OVER;
        await world.settle(world.signerOf(store));
        assert.equal(await world.published(), 2);
      }));

    it('gives up a version that was published again with another manifest: the one that witnesses saw stays', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const deps = { store, clock: () => world.time, isLogged: true };
        await world.init();
        const restore = await backupOf(world);
        const files = world.datasets.sign('1.0.0', itemLines(2));
        await world.datasets.import(store, files, {}, { isLogged: true });
        await world.settle();
        const monitor = await copyOf(world);
        await restore();
        const other = world.datasets.sign('1.0.0', itemLines(3));
        await world.datasets.import(store, other, {}, { isLogged: true });
        await world.publish('2.0.0');
        const recovered = await recoverLog({ ...deps, policy: world.policy, key: world.keys.key! }, monitor);
        const { missing, retired, replaced } = recovered;
        assert.deepEqual([missing, retired, replaced], [[], [], ['demo@1.0.0']]);
        const served = async () => (await listDatasets(deps)).map(({ manifest }) => manifest.version);
        assert.deepEqual(await served(), ['2.0.0']);
        world.time += TURN_OVER;
        await world.settle(world.signerOf(store));
        assert.equal(await world.published(), 4);
        const rules = transparencyRules();
        const news = (await leavesIn(store)).flatMap((leaf) => rules.add(Buffer.from(leaf)));
        assert.deepEqual(
          news.map((one) => one.news),
          ['key_added', 'published', 'published', 'retired'],
          JSON.stringify(news),
        );
        await assertWhole(store);
      }));

    it('takes back no end of a key whose successor the data directory lost, and takes no manifest of it', () =>
      withLog(create, async (world) => {
        const { store, datasets } = world;
        const deps = { store, clock: () => world.time, isLogged: true };
        const { key } = datasets;
        const next = (ms: number) => newKey(key.createdAt + ms);
        await world.init();
        await world.publish('1.0.0');
        await publishOwnKeys(deps, [key, next(5000)]);
        const news = async () => {
          const rules = transparencyRules();
          return (await leavesIn(store)).flatMap((leaf) => rules.add(Buffer.from(leaf)));
        };
        // The file of the second key is gone.
        await publishOwnKeys(deps, [key]);
        await assert.rejects(world.publish('1.1.0'), /after its end.*uqrp dataset keygen/);
        const third = next(9000);
        await publishOwnKeys(deps, [key, third]);
        const files = datasets.sign('1.1.0', itemLines(2), { key: third });
        await datasets.import(store, files, { own: [key, third] }, { isLogged: true });
        assert.deepEqual(
          (await news()).map((one) => one.news),
          ['key_added', 'published', 'key_ended', 'key_added', 'key_added', 'published'],
        );
      }));

    it('says a key once more with the start and the end that it has, whatever was said of it before the recovery', () =>
      withLog(create, async (world) => {
        const { store, datasets } = world;
        const deps = { store, clock: () => world.time, isLogged: true };
        const { key } = datasets;
        const foreign = newKey(0);
        const importForeign = async (version: string, atts: number): Promise<void> => {
          const files = datasets.sign(version, itemLines(2), { key: foreign, slug: 'foreign' });
          // The time is not signed.
          writeFileSync(files.manifest, JSON.stringify({ ...files.signed, atts }));
          await datasets.import(store, files, { key: foreign.publicKey }, { isLogged: true });
        };
        await world.init();
        const restore = await backupOf(world);
        await world.publish('1.0.0');
        await importForeign('1.0.0', 1_800_000_100);
        await world.settle();
        const monitor = await copyOf(world);
        await restore();
        // Before it is known that the log was longer.
        await importForeign('2.0.0', 1_800_000_200);
        await publishOwnKeys(deps, [key, newKey(key.createdAt + 5000)]);
        await recoverLog({ ...deps, policy: world.policy, key: world.keys.key! }, monitor);
        await appendMissing(deps);
        const rules = transparencyRules();
        const news = (await leavesIn(store)).flatMap((leaf) => rules.add(Buffer.from(leaf)));
        assert.deepEqual(
          news.filter((one) => 'reason' in one),
          [],
        );
        const end = key.createdAt / 1000 + 5;
        assert.equal((await findKey(store.read, key.kid))?.until, end);
        assert.equal(rules.sum.keys.get(key.kid)?.key.end, end);
        assert.equal((await findKey(store.read, foreign.kid))?.since, 1_800_000_100);
      }));

    it('gives up a version that was attested after the end of its key, of which the restored database did not know', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const deps = { store, clock: () => world.time, isLogged: true };
        const { key } = world.datasets;
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        const restore = await backupOf(world);
        await publishOwnKeys(deps, [key, newKey(key.createdAt + 5000)]);
        await world.settle();
        const monitor = await copyOf(world);
        await restore();
        await world.publish('2.0.0');
        const { replaced } = await recoverLog(
          { ...deps, policy: world.policy, key: world.keys.key! },
          monitor,
        );
        assert.deepEqual(replaced, ['demo@2.0.0']);
        await appendMissing(deps);
        const rules = transparencyRules();
        const news = (await leavesIn(store)).flatMap((leaf) => rules.add(Buffer.from(leaf)));
        assert.deepEqual(
          news.map((one) => one.news),
          ['key_added', 'published', 'key_ended', 'key_added'],
          JSON.stringify(news),
        );
        assert.deepEqual(
          (await listDatasets(deps)).map(({ manifest }) => manifest.version),
          ['1.0.0'],
        );
      }));

    it('goes on with a copy whose checkpoint has the lines of witnesses before that of the log', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const deps = { store, clock: () => world.time, policy: world.policy, key: world.keys.key! };
        await world.init();
        const restore = await backupOf(world);
        await world.publish('1.0.0');
        await world.settle();
        const monitor = await copyOf(world);
        await restore();
        const turned: LogSource = {
          async read(path, max) {
            const octets = Buffer.from(await monitor.read(path, max));
            if (path !== 'checkpoint') return octets;
            const { text, signatures } = parseNote(octets.toString())!;
            return Buffer.from(printNote({ text, signatures: signatures.toReversed() }));
          },
        };
        await recoverLog({ ...deps, key: world.keys.key! }, turned);
        world.time += TURN_OVER;
        await world.settle(world.signerOf(store));
        assert.equal(await world.published(), 2);
        await world.publish('1.1.0');
        world.time += TURN_OVER;
        await world.settle(world.signerOf(store));
        assert.equal(await world.published(), 3);
      }));

    it('takes back nothing that is not trusted, not new, or of another history', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const deps = { store, clock: () => world.time, policy: world.policy, key: world.keys.key! };
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        const key = world.keys.key!;
        const monitor = await copyOf(world);
        await assert.rejects(recoverLog({ ...deps, key }, monitor), /there is nothing to recover/);
        const restore = await backupOf(world);
        await world.publish('1.1.0');
        await world.settle();
        const later = await copyOf(world);
        await restore();
        const unsigned: LogSource = {
          read: async (path, max) =>
            path === 'checkpoint'
              ? Buffer.from(
                  Buffer.from(await later.read(path, max))
                    .toString()
                    .replace(/\n3\n/, '\n4\n'),
                )
              : later.read(path, max),
        };
        await assert.rejects(recoverLog({ ...deps, key }, unsigned), InputError);
        const changed: LogSource = {
          read: async (path, max) => {
            const octets = Buffer.from(await later.read(path, max));
            if (path !== 'checkpoint') octets.write('X', octets.length - 1);
            return octets;
          },
        };
        await assert.rejects(recoverLog({ ...deps, key }, changed), InputError);
        assert.equal((await lastSignedCheckpoint(store.read))!.size, 2);
        await assertWhole(store);
      }));
  });
});
