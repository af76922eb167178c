import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CLI, type Ended, ended, runCli, settingsFor, startCommand } from '../support/command.ts';
import { type CommandWorld, startCommandWorld } from '../support/command-world.ts';
import type { Account, Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('uqrp apply, promote and import --dry-run', () => {
  let world: CommandWorld;
  let server: Uqrp;
  let env: NodeJS.ProcessEnv;
  let owner: Account;
  let dir: string;

  before(async () => {
    world = await startCommandWorld('pro');
    ({ server, env, owner, dir } = world);
  });
  after(() => world.remove());

  const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> =>
    runCli(args, { ...env, ...more });
  const config = (): string => join(dir, 'config');
  const file = (path: string, content: string): void => {
    mkdirSync(dirname(join(config(), path)), { recursive: true });
    writeFileSync(join(config(), path), content);
  };
  /** What DNS answers; null: nothing. */
  const answered = async (key: string): Promise<string | null> => {
    const read = await run(['read', key]);
    return read.code === 0 ? read.out : null;
  };
  /** When each record of the namespace was written. */
  const writes = async (): Promise<unknown> => {
    const { body } = await owner.call('GET', '/records?namespace=shop');
    return (body as { key: string; updated_at: string }[]).map(({ key, updated_at }) => [key, updated_at]);
  };

  it('shows the plan, writes it in one unit, and the second time nothing', async () => {
    file('uqrp.json', '{"namespace": "shop"}');
    file('flags/dark-mode.json', '{"on": true}');
    file('flags/beta.txt', 'yes');
    file('greeting.txt', 'hello');
    const dry = await run(['apply', config(), '--diff']);
    assert.deepEqual([dry.code, dry.errors], [0, '']);
    assert.equal(
      dry.out,
      `${[
        '+ beta.flags.shop.v1        3 bytes',
        '  + yes',
        '+ dark-mode.flags.shop.v1   12 bytes',
        '  + {',
        '  +   "on": true',
        '  + }',
        '+ greeting.shop.v1          5 bytes',
        '  + hello',
        '0 changed, 3 new, 0 to delete, 0 unchanged',
      ].join('\n')}\n`,
    );
    assert.equal(await answered('greeting.shop.v1'), null);
    assert.equal((await run(['apply', config(), '--check'])).code, 3);
    const done = await run(['apply', config()]);
    assert.deepEqual([done.code, done.errors], [0, '']);
    assert.match(done.out, /to delete, 0 unchanged\nWritten: 0 changed, 3 new, 0 deleted\n$/);
    await eventually(async () => (await answered('greeting.shop.v1')) === 'hello');
    assert.equal(await answered('dark-mode.flags.shop.v1'), '{"on": true}');
    const before = await writes();
    const again = await run(['apply', config()]);
    assert.deepEqual([again.code, again.out], [0, '0 changed, 0 new, 0 to delete, 3 unchanged\n']);
    assert.deepEqual(await writes(), before, 'no second write');
    assert.equal((await run(['apply', config(), '--check'])).code, 0);
  });

  it('finds a change by hand, takes it back, and deletes what is gone', async () => {
    await run(['put', 'greeting.shop.v1', 'by hand']);
    await run(['put', 'old.flags.shop.v1', 'x']);
    await run(['put', 'passing.flags.shop.v1', 'x', '--expires', '1h']);
    await run(['put', 'other.things.shop.v1', 'x']);
    const check = await run(['apply', config(), '--check', '--prune', '--json']);
    assert.equal(check.code, 3);
    assert.deepEqual(JSON.parse(check.out), {
      changes: [
        { kind: 'changed', key: 'greeting.shop.v1', bytes_before: 7, bytes_after: 5 },
        { kind: 'deleted', key: 'old.flags.shop.v1', bytes_before: 1, bytes_after: null },
      ],
      changed: 1,
      new: 0,
      deleted: 1,
      unchanged: 2,
    });
    const done = await run(['apply', config(), '--prune']);
    assert.deepEqual([done.code, done.errors], [0, '']);
    assert.match(done.out, /\nWritten: 1 changed, 0 new, 1 deleted\n$/);
    await eventually(async () => (await answered('greeting.shop.v1')) === 'hello');
    assert.equal(await answered('old.flags.shop.v1'), null);
    assert.equal(await answered('passing.flags.shop.v1'), 'x');
    assert.equal(await answered('other.things.shop.v1'), 'x');
    const bounded = await run(['apply', config(), '--prune', '--max-deletes', '0']);
    assert.equal(bounded.code, 0, 'nothing to delete');
  });

  it('promotes a resource to another namespace', async () => {
    const done = await run(['promote', 'shop', 'live', '--resource', 'flags']);
    assert.deepEqual([done.code, done.errors], [0, '']);
    await eventually(async () => (await answered('beta.flags.live.v1')) === 'yes');
    assert.equal(await answered('greeting.live.v1'), null);
    assert.equal(await answered('passing.flags.live.v1'), null);
    const again = await run(['promote', 'shop', 'live', '--resource', 'flags', '--check']);
    assert.deepEqual([again.code, again.out], [0, '0 changed, 0 new, 0 to delete, 2 unchanged\n']);
  });

  it('deletes nothing that the other namespace has with an expiry (prune of a record with an expiry)', async () => {
    // In shop passing has an expiry; shop has no permanent one of the resource timed.
    const named = ['passing.flags.live.v1', 'gone.flags.live.v1', 'a.timed.live.v1'];
    for (const key of named) await run(['put', key, 'of live']);
    await run(['put', 'a.timed.shop.v1', 'x', '--expires', '1h']);
    for (const only of [['--resource', 'flags'], []]) {
      const dry = await run(['promote', 'shop', 'live', ...only, '--prune', '--dry-run', '--json']);
      const { changes } = JSON.parse(dry.out) as { changes: { kind: string; key: string }[] };
      const deleted = changes.filter(({ kind }) => kind === 'deleted').map(({ key }) => key);
      assert.deepEqual(deleted, ['gone.flags.live.v1'], only.join(' '));
    }
    const done = await run(['promote', 'shop', 'live', '--resource', 'flags', '--prune']);
    assert.deepEqual([done.code, done.errors], [0, '']);
    await eventually(async () => (await answered('gone.flags.live.v1')) === null);
    for (const key of ['passing.flags.live.v1', 'a.timed.live.v1'])
      assert.equal(await answered(key), 'of live');
  });

  it('says what an import would do, and writes nothing', async () => {
    const path = join(dir, 'shop.jsonl');
    const lines = server.cli(['export', 'shop']).trimEnd().split('\n');
    const [first, ...rest] = lines.map((line) => JSON.parse(line));
    const more = [
      { ...first, data: 'bmV3' },
      'no object',
      { key: 'new.flags.elsewhere.v1', data: '' },
      { key: 'past.flags.shop.v1', data: '', expires_at: '2020-01-01T00:00:00Z' },
      ...rest,
      { key: 'new.flags.shop.v1', data: '' },
      { key: 'bad.flags.shop.v1', data: '?' },
    ];
    writeFileSync(path, more.map((record) => JSON.stringify(record)).join('\n'));
    const dry = await runCli(['import', 'shop', path, '--dry-run', '--json'], settingsFor(server.dataDir));
    assert.equal(dry.code, 1);
    assert.deepEqual(JSON.parse(dry.out), {
      namespace: 'shop',
      new: 1,
      replaced: 1,
      unchanged: rest.length,
      refused: 3,
    });
    assert.equal(
      dry.errors,
      [
        'line 2 is not a JSON object',
        'line 3 has a key outside the namespace',
        `line ${more.length}: data is not strict Base64`,
        'an import would stop at the first refused record\n',
      ].join('\n'),
    );
    assert.equal(server.cli(['export', 'shop']).trimEnd().split('\n').length, lines.length);
  });

  it('goes on when the reader of its output ends, with its own exit code (| head left half of it unwritten, with 0)', async () => {
    const many = join(dir, 'many');
    mkdirSync(join(many, 'lamps'), { recursive: true });
    for (let n = 0; n < 501; n++) writeFileSync(join(many, `lamps/n${n}.txt`), 'on');
    const unread = async (...args: readonly string[]): Promise<Ended> => {
      const child = startCommand(process.execPath, [CLI, ...args], { ...env, UQRP_DATA_DIR: server.dataDir });
      child.stdout?.destroy();
      return await ended(child);
    };
    const apply = ['apply', many, '--namespace', 'shop'];
    assert.equal((await unread(...apply, '--check')).code, 3);
    assert.deepEqual(await unread(...apply), { code: 0, signal: null, out: '', errors: '' });
    assert.equal((await run([...apply, '--check'])).code, 0, 'both writes were made');
    // What only prints has nothing left to do.
    assert.deepEqual(await unread('export', 'shop'), { code: 0, signal: null, out: '', errors: '' });
  });

  it('says what is wrong, and what to do', async () => {
    const without = await run(['apply', config()], { UQRP_TOKEN: '' });
    assert.deepEqual(
      [without.code, without.errors],
      [2, 'set UQRP_TOKEN to an API key, or to what uqrp user token EMAIL prints\n'],
    );
    file('flags/a_b.txt', '');
    const fault = await run(['apply', config()]);
    assert.equal(fault.code, 1);
    assert.match(fault.errors, /a_b\.txt: its key a_b\.flags\.shop\.v1 /);
  });

  it('refuses a namespace that the token does not reach, also in a dry run and as the source', async () => {
    file('flags/a_b.txt', '');
    rmSync(join(config(), 'flags/a_b.txt'));
    for (const args of [
      ['promote', 'shop', 'nowhere'],
      ['promote', 'nowhere', 'shop', '--prune'],
      ['promote', 'nowhere', 'shop', '--check'],
      ['apply', config(), '--namespace', 'nowhere', '--dry-run'],
    ]) {
      const { code, out, errors } = await run(args);
      assert.deepEqual(
        [code, out, errors],
        [1, '', 'UQRP_TOKEN reaches no namespace nowhere\n'],
        args.join(' '),
      );
    }
  });
});
