import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type FeedCredentials, parseCredentials } from '../../src/feed/ports/credentials.ts';
import { CLI, runCli, settingsFor, startCommand } from '../support/command.ts';

describe('feed and node commands', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-feed-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('make a folder whose secrets only its owner reads, and let nodes in and out', async () => {
    const dir = join(folder, 'feed');
    const made = await runCli(['feed', 'init', dir, '--json'], {});
    assert.equal(made.code, 0, made.errors);
    for (const name of ['ca.key', 'server.key', 'control.creds']) {
      assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600, name);
    }
    const added = await runCli(['node', 'add', 'fra1', '--feed', dir], {});
    assert.equal(added.code, 0, added.errors);
    const credentials = parseCredentials(added.out);
    assert.deepEqual(
      [credentials.name, credentials.servers, credentials.sign],
      ['fra1', ['127.0.0.1:4222'], null],
    );
    const users = (): string => readFileSync(join(dir, 'nodes.conf'), 'utf8');
    assert.match(users(), /# fra1\n *\{ nkey: U[A-Z0-9]+, permissions/);
    assert.doesNotMatch(users() + readFileSync(join(dir, 'nodes.json'), 'utf8'), /\bSU[A-Z0-9]{20}|PRIVATE/);

    const [again, unknown, bad, second] = await Promise.all([
      runCli(['node', 'add', 'fra1', '--feed', dir], {}),
      runCli(['node', 'remove', 'ams1', '--feed', dir], {}),
      runCli(['node', 'add', 'a.b', '--feed', dir], {}),
      runCli(['feed', 'init', dir], {}),
    ]);
    assert.deepEqual([again.code, unknown.code, bad.code, second.code], [1, 1, 2, 1]);
    assert.match(second.errors, /is not empty/);
    assert.equal((await runCli(['node', 'remove', 'fra1', '--feed', dir], {})).code, 0);
    assert.doesNotMatch(users(), /fra1/);
  });

  it('node add --out makes a file that its owner alone reads, also under umask 022 (finding 10 of the review of operation)', async () => {
    const dir = join(folder, 'feed');
    const out = join(folder, 'sin1.creds');
    const before = process.umask(0o022);
    try {
      const added = await runCli(['node', 'add', 'sin1', '--feed', dir, '--out', out], {});
      assert.deepEqual([added.code, added.out], [0, ''], added.errors);
    } finally {
      process.umask(before);
    }
    assert.equal(statSync(out).mode & 0o777, 0o600);
    assert.equal(parseCredentials(readFileSync(out, 'utf8')).name, 'sin1');
    // No node without its file, and no file without its node.
    const taken = await runCli(['node', 'add', 'nyc1', '--feed', dir, '--out', out], {});
    assert.deepEqual([taken.code, taken.errors.includes('exists')], [1, true]);
    assert.doesNotMatch(readFileSync(join(dir, 'nodes.json'), 'utf8'), /nyc1/);
    const other = join(folder, 'other.creds');
    assert.equal((await runCli(['node', 'add', 'sin1', '--feed', dir, '--out', other], {})).code, 1);
    assert.equal(existsSync(other), false);
    const nowhere = join(folder, 'none', 'nyc1.creds');
    assert.equal((await runCli(['node', 'add', 'nyc1', '--feed', dir, '--out', nowhere], {})).code, 1);
    assert.doesNotMatch(readFileSync(join(dir, 'nodes.json'), 'utf8'), /nyc1/);
  });

  it('a start with credentials that every user reads says so once (finding 10 of the review of operation)', async () => {
    const file = join(folder, 'sin1.creds');
    for (const [mode, times] of [
      [0o600, 0],
      [0o644, 1],
    ] as const) {
      chmodSync(file, mode);
      const node = startCommand(process.execPath, [CLI, 'serve'], {
        ...settingsFor(join(folder, 'data')),
        UQRP_ROLE: 'edge',
        UQRP_FEED_CREDENTIALS: file,
      });
      let log = '';
      // No broker is there: the node says so, after what it says of its credentials.
      await new Promise<void>((resolve) => {
        for (const stream of [node.stdout!, node.stderr!])
          stream.on('data', (chunk: Buffer) => {
            log += chunk.toString();
            if (/"event":"(feed|server)\./.test(log)) resolve();
          });
        node.once('exit', () => resolve());
      });
      if (node.exitCode === null) {
        const exit = once(node, 'exit');
        node.kill('SIGKILL');
        await exit;
      }
      assert.equal(log.match(/"event":"credentials\.open"/g)?.length ?? 0, times, log);
      assert.match(log, /"event":"(feed|server)\./);
    }
  });

  it('a credentials file that is damaged is refused with the member and the mend, and nothing of its content', () => {
    const text = readFileSync(join(folder, 'feed', 'control.creds'), 'utf8');
    const whole = JSON.parse(text) as FeedCredentials;
    assert.equal(parseCredentials(text).name, 'control');
    const cases: readonly (readonly [string, RegExp])[] = [
      [text.slice(0, 400), /is not JSON: perhaps it was cut short/],
      ['[]', /is not a JSON object/],
      [JSON.stringify({ ...whole, version: 2 }), /another version/],
      [JSON.stringify({ ...whole, name: 'a.b' }), /no valid name/],
      [JSON.stringify({ ...whole, seed: '' }), /lacks "seed"/],
      [JSON.stringify({ ...whole, servers: [] }), /lacks "servers"/],
      [JSON.stringify({ ...whole, verify: ['x'] }), /damaged key in "verify"/],
      [JSON.stringify({ ...whole, sign: whole.key }), /key of another kind in "sign"/],
    ];
    for (const [damaged, message] of cases) {
      assert.throws(
        () => parseCredentials(damaged),
        (error: Error) => message.test(error.message) && !error.message.includes(whole.seed),
        String(message),
      );
    }
  });
});
