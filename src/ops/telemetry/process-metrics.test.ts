import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SOURCES } from '../../services/providers/source.ts';
import { createMetrics } from './metrics.ts';
import { PROVIDER_NAMES, PROVIDER_OUTCOMES } from './vocabulary.ts';

describe('metrics of the process', () => {
  it('tell whether the database answers, also while a look at it fails', async () => {
    let isUp: boolean | null = true;
    const metrics = createMetrics({
      edgeStats: null,
      feedLag: () => null,
      databaseUp: () => isUp,
      webhookOldestDue: () => (isUp ? Promise.resolve(3) : Promise.reject(new Error('no database'))),
      process: false,
    });
    const up = await metrics.text();
    assert.match(up, /^uqrp_database_up 1$/m);
    assert.match(up, /^uqrp_webhook_oldest_due_seconds 3$/m);
    isUp = false;
    const down = await metrics.text();
    assert.match(down, /^uqrp_database_up 0$/m);
    assert.doesNotMatch(down, /^uqrp_webhook_oldest_due_seconds \d/m);
    isUp = null;
    assert.doesNotMatch(await metrics.text(), /^uqrp_database_up \d/m);
  });

  it('tell when the present epoch of the log began', async () => {
    let at: number | null = null;
    const metrics = createMetrics({
      edgeStats: null,
      feedLag: () => null,
      logEpochAt: () => at,
      process: false,
    });
    assert.doesNotMatch(await metrics.text(), /^uqrp_log_epoch_timestamp_seconds \d/m);
    for (at of [0, 1_767_225_600_999])
      assert.match(
        await metrics.text(),
        new RegExp(`^uqrp_log_epoch_timestamp_seconds ${Math.floor(at / 1000)}$`, 'm'),
      );
  });

  it('tell the room on the disk of the data directory, while it can be read (operator finding 6)', async () => {
    let free = 4096;
    const dataDirFree = () => free;
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, dataDirFree, process: false });
    assert.match(await metrics.text(), /^uqrp_data_dir_free_bytes 4096$/m);
    free = 0;
    assert.match(await metrics.text(), /^uqrp_data_dir_free_bytes 0$/m);
    free = Number.NaN;
    assert.doesNotMatch(await metrics.text(), /^uqrp_data_dir_free_bytes \S/m);
  });

  it('tell how long another process has kept deleted data in the files, once it was looked at', async () => {
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, process: false });
    assert.doesNotMatch(await metrics.text(), /^uqrp_database_unerased_seconds \d/m);
    for (const seconds of [0, 34, 0]) {
      metrics.unerased(seconds);
      assert.match(await metrics.text(), new RegExp(`^uqrp_database_unerased_seconds ${seconds}$`, 'm'));
    }
  });

  it('count calls to providers in closed sets that begin at 0', async () => {
    assert.deepEqual([...PROVIDER_NAMES], [...SOURCES]);
    const metrics = createMetrics({ edgeStats: null, feedLag: () => null, process: false });
    metrics.providerCalled('ecb', 'failed');
    const lines = (await metrics.text())
      .split('\n')
      .filter((line) => /^uqrp_provider_calls_total/.test(line));
    assert.deepEqual(
      lines.sort(),
      PROVIDER_NAMES.flatMap((provider) =>
        PROVIDER_OUTCOMES.map((outcome) => {
          const count = provider === 'ecb' && outcome === 'failed' ? 1 : 0;
          return `uqrp_provider_calls_total{provider="${provider}",outcome="${outcome}"} ${count}`;
        }),
      ).sort(),
    );
  });

  it('tell the versions, and when the certificate in use ends', async () => {
    let end: number | null = 1_800_000_000_999;
    const metrics = createMetrics({
      edgeStats: null,
      feedLag: () => null,
      version: '1.2.3',
      certificateEnd: () => end,
      process: false,
    });
    const text = await metrics.text();
    assert.ok(text.includes(`uqrp_build_info{version="1.2.3",node="${process.versions.node}"} 1\n`), text);
    assert.match(text, /^uqrp_tls_certificate_expiry_timestamp_seconds 1800000000$/m);
    end = null;
    assert.doesNotMatch(await metrics.text(), /^uqrp_tls_certificate_expiry_timestamp_seconds \d/m);
  });
});
