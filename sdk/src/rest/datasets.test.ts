import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testServer } from '../../../test/support/sdk/server.ts';
import { Uqrp } from './uqrp.ts';

const FIXTURE = fileURLToPath(new URL('../../../test/fixtures/attest/plain/', import.meta.url));

describe('the dataset registry of a server', () => {
  let nobody: Uqrp;
  let kid: string;
  before(async () => {
    const { base, cli, dataDir } = await testServer();
    nobody = new Uqrp({ baseUrl: base });
    const items = ['--items', join(FIXTURE, 'items.jsonl')];
    ({ kid } = JSON.parse(cli(['dataset', 'keygen', '--json'])));
    const signed = join(dataDir, 'signed.json');
    writeFileSync(signed, cli(['dataset', 'attest', join(FIXTURE, 'manifest.json'), ...items]));
    cli(['dataset', 'import', signed, ...items]);
  });

  it('is listed and read without a credential', async () => {
    assert.equal((await nobody.meta()).features.datasets, true);
    const [dataset, ...others] = await nobody.datasets.list({ limit: 1 }).toArray();
    assert.deepEqual(others, []);
    assert.deepEqual([dataset?.slug, dataset?.version_numbers], ['gtin-demo', ['1.2.0']]);
    const { att, attkid, items, windows } = dataset?.latest ?? {};
    assert.deepEqual([att, attkid, items, windows], ['attested', kid, 2, 3]);
    assert.deepEqual(await nobody.datasets.get('gtin-demo'), { ...dataset, versions: [dataset?.latest] });
  });

  it('refuses what is not there, and a bad limit', async () => {
    await assert.rejects(nobody.datasets.get('none'), { status: 404, code: 'not_found' });
    await assert.rejects(nobody.datasets.get('../meta'), { status: 404 });
    await assert.rejects(nobody.datasets.list({ limit: 0 }).page(), {
      status: 400,
      code: 'validation_error',
    });
  });
});
