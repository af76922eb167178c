import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CLI, type Ended, runCli } from '../support/command.ts';
import { type CommandWorld, startCommandWorld } from '../support/command-world.ts';
import type { Account, Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('the commands that encrypt and sign', () => {
  let world: CommandWorld;
  let server: Uqrp;
  let env: NodeJS.ProcessEnv;
  let owner: Account;
  let dir: string;

  before(async () => {
    world = await startCommandWorld('enterprise');
    ({ server, env, owner, dir } = world);
  });
  after(() => world.remove());

  const run = (args: readonly string[], input?: string): Promise<Ended> => runCli(args, env, input);
  const path = (name: string): string => join(dir, name);
  const ran = async (args: readonly string[], input?: string): Promise<string> => {
    const ended = await run(args, input);
    assert.deepEqual([ended.code, ended.errors], [0, ''], args.join(' '));
    return ended.out;
  };
  const refused = async (args: readonly string[], code = 1): Promise<string> => {
    const ended = await run(args);
    assert.deepEqual([ended.code, ended.out], [code, ''], `${args.join(' ')}: ${ended.errors}`);
    return ended.errors.trimEnd();
  };
  /** A key file with one key. @returns its path and the id of the key */
  const keyFile = async (name: string): Promise<readonly [string, string]> => {
    await ran(['key', 'new', path(name)]);
    return [path(name), readFileSync(path(name), 'utf8').split(' ')[1]!];
  };
  /** Writes with `--wait`: DNS has the record afterwards. */
  const put = (...args: readonly string[]): Promise<string> => ran(['put', ...args, '--wait', '30s']);
  const stored = async (key: string): Promise<Buffer> => {
    const { body } = await owner.call('GET', `/records?key=${key}`);
    return Buffer.from((body as { data: string }[])[0]!.data, 'base64');
  };

  it('key new makes a file for its user alone, never over another one; key add puts a key before the others', async () => {
    const [file, id] = await keyFile('shop.key');
    assert.match(readFileSync(file, 'utf8'), /^uqrp-key-2 [0-9a-f]{16} [\w-]{43} \d{4}-\d\d-\d\d\n$/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(await refused(['key', 'new', file]), `${file} exists: nothing was written`);
    const added = JSON.parse(await ran(['key', 'add', file, '--json'])) as { id: string };
    assert.deepEqual(added, { id: added.id, others: [id], file });
    const ids = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[1]);
    assert.deepEqual(ids, [added.id, id]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(
      await ran(['key', 'add', file]),
      /: key [0-9a-f]{16} encrypts, [0-9a-f]{16}, [0-9a-f]{16} still decrypt\n$/,
    );
    assert.match(await refused(['key', 'new'], 2), /uqrp key new FILE/);
  });

  it('put --encrypt and read --key: the value comes back, and only with the key', async () => {
    const [file, id] = await keyFile('env.key');
    const secret = 'postgres://app:grüße@db';
    await ran(['put', 'Db.Env.shop.v1', '-', '--encrypt', file, '--wait', '30s'], secret);
    const octets = await stored('db.env.shop.v1');
    assert.deepEqual([octets[0], octets.subarray(1, 9).toString('hex')], [2, id]);
    assert.equal(octets.length, Buffer.byteLength(secret) + 43);
    assert.equal(await ran(['read', 'db.env.shop.v1', '--key', file]), secret);
    assert.equal(
      await ran(['read', 'GET.DB.env.shop.v1.uqrp.net', '--key', file, '--max-age', '1h']),
      secret,
    );
    const shown = JSON.parse(await ran(['read', 'db.env.shop.v1', '--key', file, '--json']));
    assert.equal(Buffer.from(shown.data, 'base64').toString(), secret);
    assert.ok(Math.abs(Date.parse(shown.written) - Date.now()) < 600_000);
    const filesWith = (text: string): string =>
      spawnSync('grep', ['-rlaF', '-e', text, server.dataDir], { encoding: 'utf8' }).stdout;
    assert.equal(filesWith('app:grüße@db'), '');
    await put('plain.env.shop.v1', 'app:nobody@db');
    assert.notEqual(filesWith('app:nobody@db'), '');
  });

  it('says what is wrong, to the letter, and exits with 1', async () => {
    const [[file, id], [other]] = [await keyFile('a.key'), await keyFile('b.key')];
    await put('a.faults.shop.v1', 'secret', '--encrypt', file);
    const octets = await stored('a.faults.shop.v1');
    assert.equal(
      await refused(['read', 'a.faults.shop.v1', '--key', other]),
      `encrypted with key ${id}, which ${other} does not have`,
    );
    await put('plain.faults.shop.v1', 'hello');
    assert.equal(await refused(['read', 'plain.faults.shop.v1', '--key', file]), 'not encrypted');
    assert.equal(await ran(['read', 'plain.faults.shop.v1', '--key', file, '--allow-plain']), 'hello');
    const raw = async (key: string, data: Buffer): Promise<string> => {
      writeFileSync(path('raw'), data);
      await put(key, '--file', path('raw'));
      return key;
    };
    const moved = await raw('b.faults.shop.v1', octets);
    assert.equal(await refused(['read', moved, '--key', file]), 'not this record, or damaged');
    const damaged = await raw(
      'a.faults.shop.v1',
      Buffer.concat([octets.subarray(0, -1), Buffer.of(octets.at(-1)! ^ 1)]),
    );
    assert.equal(await refused(['read', damaged, '--key', file]), 'not this record, or damaged');
    const unknown = await raw('a.faults.shop.v1', Buffer.concat([Buffer.of(4), octets.subarray(1)]));
    assert.equal(await refused(['read', unknown, '--key', file, '--allow-plain']), 'unknown form');
    const old = Buffer.from(octets);
    old.writeUIntBE(Date.now() - 100_000, 9, 6);
    assert.equal(
      await refused(['read', await raw('a.faults.shop.v1', old), '--key', file]),
      'not this record, or damaged',
    );
  });

  it('refuses a key file that others can read, and one that is none, without a word of its content', async () => {
    const [file] = await keyFile('open.key');
    const text = readFileSync(file, 'utf8');
    for (const mode of [0o644, 0o640, 0o604]) {
      chmodSync(file, mode);
      assert.equal(
        await refused(['put', 'a.env.shop.v1', 'x', '--encrypt', file]),
        `${file} is open to other users: chmod 600 ${file}`,
      );
    }
    assert.match(await refused(['read', 'a.env.shop.v1', '--key', file]), /open to other users/);
    assert.match(await refused(['key', 'add', file]), /open to other users/);
    chmodSync(file, 0o600);
    writeFileSync(file, `${text}pass phrase of mine\n`);
    assert.equal(
      await refused(['put', 'a.env.shop.v1', 'x', '--encrypt', file]),
      `${file}: line 2 of the key file is not: uqrp-key-2 ID BASE64URL [note]`,
    );
    writeFileSync(file, 'x'.repeat(65_537));
    assert.equal(
      await refused(['read', 'a.env.shop.v1', '--key', file]),
      `${file} has more than 65536 octets`,
    );
    assert.equal(
      await refused(['read', 'a.env.shop.v1', '--key', path('none')]),
      `${path('none')} cannot be read: ENOENT`,
    );
    assert.match(
      await refused(['put', 'a.env.shop.v1', 'x', '--type', 'text/plain', '--encrypt', file], 2),
      /cannot be used with/,
    );
    for (const option of ['--allow-plain', '--max-age=1h'])
      assert.match(await refused(['read', 'a.env.shop.v1', option], 2), /needs --key/);
  });

  it('put --sign and read --signed-by: with keys of openssl and our own, as text or as a file', async () => {
    const [pem, base64] = [path('seed.pem'), path('pub.b64')];
    // As a shell does for `uqrp key new --sign > seed.pem`.
    const made = spawnSync(
      '/bin/sh',
      ['-c', `umask 022; "$0" "$1" key new --sign > "$2"`, process.execPath, CLI, pem],
      { env },
    );
    assert.equal(made.status, 0, String(made.stderr));
    assert.equal(statSync(pem).mode & 0o777, 0o600);
    const printed = await ran(['key', 'public', pem]);
    const [publicPem, publicBase64] = [
      printed.slice(0, printed.lastIndexOf('-----\n') + 6),
      printed.trimEnd().split('\n').at(-1)!,
    ];
    assert.match(publicPem, /^-----BEGIN PUBLIC KEY-----\n/);
    assert.match(publicBase64, /^[A-Za-z0-9+/]{43}=$/);
    writeFileSync(base64, printed);
    await put('pump.status.shop.v1', 'off', '--sign', pem);
    const [other] = [
      JSON.parse(await ran(['key', 'new', path('other.pem'), '--sign', '--json'])) as { public_key: string },
    ];
    for (const key of [publicPem, publicBase64, base64])
      assert.equal(
        await ran(['read', 'Pump.status.shop.v1', '--signed-by', other.public_key, '--signed-by', key]),
        'off',
      );
    assert.match(
      await refused(['read', 'pump.status.shop.v1', '--signed-by', other.public_key]),
      /^signed with key [0-9a-f]{16}, which is none of those given$/,
    );
    await put('plain.status.shop.v1', 'off');
    assert.equal(await refused(['read', 'plain.status.shop.v1', '--signed-by', publicPem]), 'not signed');
    assert.match(
      await refused(['read', 'pump.status.shop.v1', '--signed-by', 'nonsense']),
      /^--signed-by takes a public key/,
    );
    const [file] = await keyFile('both.key');
    await put('both.status.shop.v1', 'secret', '--encrypt', file, '--sign', pem);
    assert.equal(
      await ran(['read', 'both.status.shop.v1', '--key', file, '--signed-by', publicBase64]),
      'secret',
    );
    assert.match(await refused(['read', 'both.status.shop.v1', '--key', file]), /^unknown form/);
    assert.match(await refused(['key', 'public', file]), /: no Ed25519 signing key/);
  });

  const noOpenssl = spawnSync('openssl', ['version']).status !== 0;
  it('openssl makes signing keys, and gives the same public key', {
    skip: noOpenssl && 'openssl is not installed',
  }, async () => {
    const file = path('openssl.pem');
    spawnSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', file]);
    const { stdout } = spawnSync('openssl', ['pkey', '-in', file, '-pubout'], { encoding: 'utf8' });
    assert.ok((await ran(['key', 'public', file])).startsWith(stdout));
    await put('valve.status.shop.v1', 'shut', '--sign', file);
    assert.equal(await ran(['read', 'valve.status.shop.v1', '--signed-by', stdout]), 'shut');
  });

  it('reencrypt moves what an old key encrypted to the first one, and tells what it cannot read', async () => {
    const space = 'rotate';
    await owner.call('POST', '/namespaces', { namespace: { name: space } });
    const [[file, id], [foreign]] = [await keyFile('rotate.key'), await keyFile('foreign.key')];
    await put(`a.env.${space}.v1`, 'one', '--encrypt', file, '--ttl', '60');
    await put(`b.env.${space}.v1`, 'two', '--encrypt', file);
    await put(`plain.env.${space}.v1`, 'three');
    await ran(['key', 'add', file]);
    const next = readFileSync(file, 'utf8').split(' ')[1]!;
    await put(`c.env.${space}.v1`, 'four', '--encrypt', file);
    const before = await stored(`a.env.${space}.v1`);
    const dry = await ran(['reencrypt', space, '--key', file, '--dry-run']);
    const lines = ['a', 'b'].map((name) => `${name}.env.${space}.v1   ${id} -> ${next}`);
    assert.equal(
      dry,
      `${lines.join('\n')}\n2 to encrypt anew, 1 unchanged, 1 not encrypted, 0 not readable\n`,
    );
    assert.ok(before.equals(await stored(`a.env.${space}.v1`)));
    assert.match(
      await ran(['reencrypt', space.toUpperCase(), '--key', file]),
      /^2 encrypted anew, 1 unchanged, 1 not encrypted/m,
    );
    writeFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n`);
    const { body } = await owner.call('GET', `/records?key=a.env.${space}.v1`);
    const [record] = body as { ttl_seconds: number; content_type: string }[];
    assert.deepEqual([record?.ttl_seconds, record?.content_type], [60, 'application/octet-stream']);
    const after = await stored(`a.env.${space}.v1`);
    assert.ok(after.readUIntBE(9, 6) > before.readUIntBE(9, 6));
    assert.match(
      await ran(['reencrypt', space, '--key', file]),
      /^0 encrypted anew, 3 unchanged, 1 not encrypted, 0 not readable\n$/,
    );
    await put(`d.env.${space}.v1`, 'five', '--encrypt', foreign);
    const ended = await run(['reencrypt', space, '--key', file, '--json']);
    assert.equal(ended.code, 1);
    assert.match(
      ended.errors,
      new RegExp(`^d\\.env\\.${space}\\.v1: encrypted with key [0-9a-f]{16}, which \\S+ does not have$`, 'm'),
    );
    assert.deepEqual(JSON.parse(ended.out).records, []);
    assert.equal(
      await refused(['reencrypt', 'no-such-space', '--key', file]),
      'UQRP_TOKEN reaches no namespace no-such-space',
    );
  });

  it('a value of the first form is read with its key of before, and reencrypt writes the new form', async () => {
    const space = 'first-form';
    await owner.call('POST', '/namespaces', { namespace: { name: space } });
    const key = `db.env.${space}.v1`;
    const secret = Buffer.alloc(32, 9);
    const cipher = createCipheriv('aes-256-gcm', secret, Buffer.alloc(12, 1)).setAAD(Buffer.from(key));
    const sealed = Buffer.concat([cipher.update('old'), cipher.final()]);
    writeFileSync(
      path('raw'),
      Buffer.concat([Buffer.of(1), Buffer.alloc(12, 1), sealed, cipher.getAuthTag()]),
    );
    await put(key, '--file', path('raw'));
    const [file] = await keyFile('first-form.key');
    writeFileSync(path('old.b64'), `${secret.toString('base64')}\n`, { mode: 0o600 });
    await ran(['key', 'add', file, '--from', path('old.b64')]);
    await ran(['key', 'add', file]);
    server.cli(['namespace', 'public-read', space, 'on']);
    await eventually(async () => (await run(['read', key, '--key', file])).out === 'old');
    assert.equal(
      await refused(['read', key, '--key', file, '--max-age', '365d']),
      'without a time of writing',
    );
    assert.match(await ran(['reencrypt', space, '--key', file]), /^1 encrypted anew/m);
    assert.equal((await stored(key))[0], 2);
  });

  it('apply --encrypt compares what is encrypted: the second time nothing changes', async () => {
    const [file] = await keyFile('apply.key');
    const config = path('config');
    mkdirSync(join(config, 'env'), { recursive: true });
    writeFileSync(join(config, 'uqrp.json'), '{"namespace": "live"}');
    writeFileSync(join(config, 'env/db.txt'), 'one\n');
    writeFileSync(join(config, 'env/mail.txt'), 'smtp\n');
    await put('mail.env.live.v1', 'smtp\n', '--ttl', '300');
    const apply = (...args: readonly string[]): Promise<string> =>
      ran(['apply', config, '--encrypt', file, ...args]);
    assert.equal(
      await apply('--diff'),
      [
        '+ db.env.live.v1     4 bytes',
        '  + one',
        '~ mail.env.live.v1   5 bytes, other settings',
        '  not encrypted -> encrypted',
        '  content_type text/plain -> application/octet-stream',
        '1 changed, 1 new, 0 to delete, 0 unchanged\n',
      ].join('\n'),
    );
    assert.match(await apply(), /^Written: 1 changed, 1 new, 0 deleted$/m);
    const first = await stored('db.env.live.v1');
    assert.equal(first[0], 2);
    assert.equal(await apply('--check'), '0 changed, 0 new, 0 to delete, 2 unchanged\n');
    assert.equal(await apply(), '0 changed, 0 new, 0 to delete, 2 unchanged\n');
    assert.ok(first.equals(await stored('db.env.live.v1')));
    const forgotten = await run(['apply', config, '--dry-run']);
    assert.match(
      forgotten.errors,
      /^warning: db\.env\.live\.v1 is encrypted or signed, and this value is not: give --encrypt$/m,
    );
    writeFileSync(join(config, 'env/db.txt'), 'two\n');
    assert.match(await apply('--diff'), /^~ db\.env\.live\.v1 {3}4 -> 4 bytes\n {2}- one\n {2}\+ two\n/);
    await apply();
    assert.ok((await stored('db.env.live.v1')).readUIntBE(9, 6) > first.readUIntBE(9, 6));
    await eventually(async () => (await run(['read', 'db.env.live.v1', '--key', file])).out === 'two\n');
    writeFileSync(join(config, 'env/long.bin'), Buffer.alloc(2544));
    assert.equal(
      await refused(['apply', config, '--encrypt', file]),
      'long.env.live.v1 has 2544 bytes, and an encrypted record at most 2543',
    );
    writeFileSync(join(config, 'env/long.bin'), Buffer.alloc(2543));
    assert.match(await apply(), /1 new/);
  });

  it('promote encrypts for the keys of the copies, and warns of values that it cannot open', async () => {
    const [file] = await keyFile('promote.key');
    for (const name of ['from-space', 'to-space']) {
      await owner.call('POST', '/namespaces', { namespace: { name } });
      server.cli(['namespace', 'public-read', name, 'on']);
    }
    await put('db.env.from-space.v1', 'secret', '--encrypt', file);
    const warned = await run(['promote', 'from-space', 'to-space', '--dry-run']);
    assert.match(warned.errors, /^warning: db\.env\.from-space\.v1 is encrypted or signed for its own key/);
    await ran(['promote', 'from-space', 'to-space', '--encrypt', file]);
    await eventually(async () => (await run(['read', 'db.env.to-space.v1', '--key', file])).out === 'secret');
    assert.match(
      await ran(['promote', 'from-space', 'to-space', '--encrypt', file]),
      /^0 changed, 0 new, 0 to delete, 1 unchanged$/m,
    );
  });
});
