import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inTransaction, newPool } from '../../src/store/postgres/driver.ts';
import { startUqrp } from '../support/server-process.ts';
import { makeEarlierTables } from '../support/store/migrations/earlier-database.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { query } from '../support/store/rows.ts';
import { eventually, read } from './client.ts';

const RELEASE = fileURLToPath(new URL('../fixtures/release-0002', import.meta.url));
const DS = 'uqrp.net. IN DS 48775 13 2 5D7E11B266BD5C1F13E81AD6B7F73F81F6E8967BBC9A6183C4C9683C139D960F\n';
const READ_TOKEN = 'svcqf53l2kpugk1l9ha0q1s0kfgt08unaecfachs1stfm5t7ljaftgsg';

/** Makes the tables of the earlier release, and fills them with the rows of the fixture. */
async function fillEarlierTables(url: string): Promise<void> {
  const pool = newPool(url, 1);
  await inTransaction(pool, async (tx) => {
    await makeEarlierTables(tx, {});
    // The steps themselves wrote the first row of the head and of the cursors.
    await query(tx, 'delete from feed_head');
    await query(tx, 'delete from feed_cursors');
    for (const line of readFileSync(join(RELEASE, 'uqrp.sql'), 'utf8').split('\n')) {
      const sql = line.replace(/X'([0-9a-f]*)'/g, "'\\x$1'");
      if (/^INSERT INTO (?!kysely)/.test(sql)) await tx.execute(sql, []);
    }
  });
  await pool.end();
}

describe('an upgrade of a PostgreSQL database from release 0.1.0', {
  skip: postgresMissing() ?? false,
}, () => {
  it('keeps keys, tokens and records, and every process over it serves them', async () => {
    const database = await postgresDatabase();
    await fillEarlierTables(database.url);
    const shared = {
      UQRP_DATABASE_URL: database.url,
      UQRP_SECRET: readFileSync(join(RELEASE, 'secret'), 'utf8').trim(),
      UQRP_RESOLVERS: '127.0.0.1:9',
      UQRP_WORKERS: '1',
    };
    const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-upgrade-'));
    cpSync(join(RELEASE, 'keys'), join(dataDir, 'keys'), { recursive: true });
    const control = await startUqrp({ ...shared, UQRP_ROLE: 'control' }, dataDir);
    const second = await startUqrp(shared);
    try {
      assert.equal(control.cli(['dnssec', 'ds']), DS);
      assert.equal(second.cli(['dnssec', 'ds']), DS);
      assert.equal(existsSync(join(dataDir, 'keys', 'uqrp.net.json.imported')), true);
      const name = `get.auth-${READ_TOKEN}.greeting.acme.v1`;
      await eventually(async () => (await read(second, name)).payload === 'hello');
      assert.equal((await read(second, 'get.hi.openns.v1')).payload, 'hello');
      assert.match(control.cli(['user', 'list']), /old@example\.net\s+pro\s+4/);
    } finally {
      await second.remove();
      await control.remove();
      await database.drop();
    }
  });
});
