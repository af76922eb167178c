import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCli } from '../support/command.ts';
import { SmallLog } from '../support/protocol/transparency/small-log.ts';
import { startWitness } from '../support/witness-process.ts';

describe('witness commands', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  const log = new SmallLog(['one', 'two']);

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-witness-'));
    env = { UQRP_DATA_DIR: join(folder, 'data') };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: readonly string[]) => runCli(['witness', ...args], env);

  it('make a witness once, for this user alone, trust a log while it runs, and cosign', async () => {
    const made = await run('init', 'w.example/1');
    assert.match(made.out, /^w\.example\/1\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}\n$/);
    const file = join(folder, 'data', 'witness.db');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const octets = readFileSync(file);
    const again = await run('init', 'w.example/2');
    assert.deepEqual([again.code, again.out], [1, '']);
    assert.match(again.errors, /^there is a witness already in .*: nothing was changed\n$/);
    assert.deepEqual(readFileSync(file), octets);

    const witness = await startWitness(env);
    try {
      assert.equal(`${witness.vkey}\n`, made.out);
      const post = () => fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body: log.request(0) });
      assert.equal((await post()).status, 404);
      const trusted = await run('trust', log.vkey);
      assert.deepEqual([trusted.code, trusted.out], [0, 'cosigns log.example.net/log\n']);
      assert.equal((await post()).status, 200);
    } finally {
      await witness.stop();
    }
    assert.equal(witness.child.exitCode, 0);
  });

  it('start no witness without the database that init made, and make none', async () => {
    const elsewhere = { UQRP_DATA_DIR: join(folder, 'elsewhere') };
    const serve = ['witness', 'serve', '--listen', '127.0.0.1:0'];
    const noFolder = await runCli(serve, elsewhere);
    assert.equal(noFolder.code, 1);
    assert.match(noFolder.errors, /^there is no witness in .*Set UQRP_DATA_DIR to its folder\./);
    await runCli(['witness', 'init', 'w.example/3'], elsewhere);
    rmSync(join(folder, 'elsewhere', 'witness.db'));
    const noFile = await runCli(serve, elsewhere);
    assert.equal(noFile.code, 1);
    assert.match(
      noFile.errors,
      /^there is no witness in .*witness\.db\. .* never put an older copy back\.\n$/,
    );
    assert.deepEqual(readdirSync(join(folder, 'elsewhere')), []);
  });

  it('end with 2 for a wrong command line, and with 1 for a key that is none', async () => {
    const wrong = [
      ['init'],
      ['init', 'a b'],
      ['init', 'a+b'],
      ['serve'],
      ['serve', '--listen', '127.0.0.1'],
      ['trust'],
    ];
    const ends = await Promise.all(wrong.map((args) => run(...args)));
    assert.deepEqual(
      ends.map(({ code }) => code),
      wrong.map(() => 2),
    );
    const untrusted = await run('trust', 'log.example.net/log+00000000+AAAA');
    assert.equal(untrusted.code, 1);
  });
});
