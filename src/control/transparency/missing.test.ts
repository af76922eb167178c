import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { leavesIn, withLog } from '../../../test/support/control/transparency/log-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { retireVersions } from '../../store/dataset-changes.ts';
import { listVersions } from '../../store/datasets.ts';
import { holdLogHead } from '../../store/transparency.ts';
import { logRetirements } from './append.ts';
import { appendMissing } from './missing.ts';

onEachEngine((create) => {
  describe('what is published and not in the log', () => {
    it('is looked up as it is at the turn of the unit: a version that is retired meanwhile is not served once more', () =>
      withLog(create, async (world) => {
        const { store } = world;
        const other = await world.open();
        await world.init();
        await world.publish('1.0.0');
        // As an entry that was recovered: its version was imported again by a command without the log.
        await store.write(async (tx) => {
          await tx.execute('update log_entries set version_id = null', []);
        });
        let appended = Promise.resolve();
        await store.write(async (tx) => {
          await holdLogHead(tx);
          appended = appendMissing({ store: other, clock: () => world.time });
          await sleep(300);
          const rows = await listVersions(tx, ['served']);
          await retireVersions(tx, rows, world.time, (served) => logRetirements(tx, served, world.time));
        });
        await appended;
        const kinds = (await leavesIn(store)).map((leaf) => /^v=([^;]+);([a-z]+)=/.exec(leaf)!.slice(1));
        assert.deepEqual(kinds, [
          ['svc-attest.v1', 'kid'],
          ['svc-attest.v1', 'ds'],
          ['svc-tindex.v1', 'ev'],
        ]);
      }));
  });
});
