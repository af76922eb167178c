import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { CLI, type Ended, ended, runCli, settingsFor, startCommand } from '../support/command.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually } from './client.ts';

describe('what stops a start says what it is', () => {
  let dir: string;
  let server: Uqrp;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-faults-'));
    server = await startUqrp({ UQRP_WORKERS: '1' });
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const serve = (env: NodeJS.ProcessEnv): Promise<Ended> =>
    runCli(['serve'], { ...settingsFor(join(dir, 'data')), ...env });

  it('another server on the data directory, by its process (newcomer finding 6)', async () => {
    const { code, errors } = await serve({ UQRP_DATA_DIR: server.dataDir });
    assert.equal(code, 1);
    assert.ok(
      errors.includes(`UQRP_DATA_DIR ${server.dataDir} is in use by process ${server.pid}, `),
      errors,
    );
  });

  it('a port that another server shares, by variable, protocol and process (newcomer finding 6)', async () => {
    for (const [variable, port, protocol] of [
      ['UQRP_DNS_PORT', server.ports.dns, 'udp'],
      ['UQRP_DOT_PORT', server.ports.dot, 'tcp'],
      ['UQRP_DOH_PORT', server.ports.doh, 'tcp'],
      ['UQRP_HTTP_PORT', server.ports.http, 'tcp'],
    ] as const) {
      const { code, errors } = await serve({ [variable]: String(port) });
      assert.equal(code, 1, variable);
      const text = `${variable} ${port}/${protocol} is in use by process ${server.pid}. Stop it, or set ${variable} to another port.`;
      assert.ok(errors.includes(text), errors);
    }
  });

  it('the lock goes with its process, also when it is killed', async () => {
    const killed = await startUqrp({ UQRP_WORKERS: '1' });
    const gone = new Promise((resolve) => killed.child.once('exit', resolve));
    killed.child.kill('SIGKILL');
    await gone;
    const next = await startUqrp({ UQRP_WORKERS: '1' }, killed.dataDir);
    await next.remove();
  });

  it('a lock file that is a link, for the server and for doctor', async () => {
    const data = mkdtempSync(join(dir, 'link-'));
    const target = join(dir, 'of-another-directory');
    writeFileSync(target, 'precious');
    symlinkSync(target, join(data, 'serve.lock'));
    const text = `${join(data, 'serve.lock')} is not a regular file. Remove it.`;
    const { code, errors } = await serve({ UQRP_DATA_DIR: data });
    assert.equal(code, 1);
    assert.ok(errors.includes(`UQRP_DATA_DIR ${data}: ${text}`), errors);
    const doctor = await runCli(['doctor'], settingsFor(data));
    assert.equal(doctor.code, 1);
    assert.ok(doctor.out.includes(text), doctor.out);
    assert.equal(readFileSync(target, 'utf8'), 'precious');
  });

  it('a database that is none, by its file', async () => {
    const data = mkdtempSync(join(dir, 'corrupt-'));
    writeFileSync(join(data, 'secret'), '0'.repeat(64), { mode: 0o600 });
    writeFileSync(
      join(data, 'uqrp.sqlite'),
      'not a database, but long enough to have a header of 100 bytes. '.repeat(4),
    );
    const { code, errors } = await serve({ UQRP_DATA_DIR: data });
    assert.equal(code, 1);
    assert.ok(errors.includes(`${join(data, 'uqrp.sqlite')} is not a database. Restore a backup.`), errors);
  });

  it('another secret than the one of the database, for the server and for commands (newcomer finding 4)', async () => {
    const data = join(dir, 'secret');
    const created = await runCli(['user', 'create', 'a@example.net'], settingsFor(data));
    assert.equal(created.code, 0, created.errors);
    const other = { ...settingsFor(data), UQRP_SECRET: 'another secret, of 32 letters or more' };
    for (const line of [['serve'], ['user', 'token', 'a@example.net'], ['user', 'list']]) {
      const { code, out, errors } = await runCli(line, other);
      assert.deepEqual([code, out], [1, ''], line.join(' '));
      assert.match(errors, /UQRP_SECRET.* is not the secret that this database was made with/);
    }
    assert.equal((await runCli(['user', 'token', 'a@example.net'], settingsFor(data))).code, 0);
  });

  it('a database without its secret, by the file that is missing, and makes no other secret', async () => {
    const stopped = await startUqrp({ UQRP_WORKERS: '1' });
    await stopped.stop();
    const secret = join(stopped.dataDir, 'secret');
    rmSync(secret);
    const { code, errors } = await serve({ UQRP_DATA_DIR: stopped.dataDir });
    assert.equal(code, 1);
    assert.ok(errors.includes(`there is no ${secret}. Put this file back`), errors);
    assert.equal(existsSync(secret), false);
    await stopped.remove();
  });

  it('a database of a later release, for the server, commands and doctor: nothing is damaged (operator finding 3)', async () => {
    const data = mkdtempSync(join(dir, 'later-'));
    const settings = settingsFor(data);
    assert.equal((await runCli(['user', 'create', 'ada@example.net'], settings)).code, 0);
    const db = new DatabaseSync(join(data, 'uqrp.sqlite'));
    db.exec("insert into kysely_migration (name, timestamp) values ('0099-future', '2999-01-01')");
    db.close();
    const text =
      /schema 0099-future is newer than this program, which knows \d{4}-.* or restore the backup from before the upgrade/;
    for (const args of [['serve'], ['user', 'list']]) {
      const { code, errors } = await runCli(args, settings);
      assert.equal(code, 1);
      assert.match(errors, text);
      assert.ok(errors.includes(`The database ${join(data, 'uqrp.sqlite')}: `), errors);
      assert.doesNotMatch(errors, /corrupt/);
    }
    assert.match((await runCli(['doctor'], settings)).out, text);
  });

  /** As a release before 0010 left the tables. */
  const EARLIER = `
    drop index event_counters_behind;
    alter table event_counters drop column behind;
    drop index invitations_email;
    drop index invitations_expiry;
    alter table invitations drop column invited_by;
    alter table webhooks drop column url_by;
    alter table webhooks drop column secret_by;
    delete from kysely_migration where name > '0010';`;
  const OF_EARLIER =
    /schema 0009-transparency, this program needs 0011-behind\. Start a server of this release/;

  it('a database of an earlier release, whose server may run: no command upgrades it, a start does', async () => {
    const stopped = await startUqrp({ UQRP_WORKERS: '1' });
    const db = new DatabaseSync(join(stopped.dataDir, 'uqrp.sqlite'));
    const settings = settingsFor(stopped.dataDir);
    try {
      db.exec(EARLIER);
      await runCli(['doctor'], settings);
      for (const args of [
        ['user', 'list'],
        ['user', 'create', 'ada@example.net'],
      ]) {
        const { code, errors } = await runCli(args, settings);
        assert.deepEqual([code, OF_EARLIER.test(errors)], [1, true], errors);
      }
      await stopped.stop();
      // Nobody runs: what a restored backup needs.
      const listed = await runCli(['user', 'list'], settings);
      assert.equal(listed.code, 0, listed.errors);
    } finally {
      db.close();
      await stopped.remove();
    }
  });

  it('a PostgreSQL database of an earlier release: no command upgrades it, a start does', {
    skip: postgresMissing() ?? false,
  }, async () => {
    const database = await postgresDatabase();
    const data = join(dir, 'earlier');
    const settings = { ...settingsFor(data), UQRP_DATABASE_URL: database.url };
    try {
      const made = await runCli(['user', 'create', 'ada@example.net'], settings);
      assert.equal(made.code, 0, made.errors);
      await database.query(EARLIER);
      await runCli(['doctor'], settings);
      const { code, errors } = await runCli(['user', 'list'], settings);
      assert.deepEqual([code, OF_EARLIER.test(errors)], [1, true], errors);
      const started = await startUqrp(settings, data);
      await started.stop();
      const listed = await runCli(['user', 'list'], settings);
      assert.equal(listed.code, 0, listed.errors);
    } finally {
      await database.drop();
    }
  });

  it('no data directory, for commands that make none', async () => {
    const data = join(dir, 'none');
    for (const line of [
      ['user', 'list'],
      ['dnssec', 'ds'],
      ['export', 'acme'],
      ['namespace', 'list'],
    ]) {
      const { code, errors } = await runCli(line, settingsFor(data));
      assert.equal(code, 1, line.join(' '));
      assert.match(errors, /^UQRP_DATA_DIR .* does not exist\. Set UQRP_DATA_DIR as for the server/);
      assert.equal(existsSync(data), false);
    }
  });

  /** With no UQRP_DATA_DIR but the given one. */
  const runIn = (cwd: string, args: readonly string[], settings: NodeJS.ProcessEnv = {}) => {
    const { UQRP_DATA_DIR: _, ...inherited } = process.env;
    const env = { ...inherited, ...settings };
    return spawnSync(process.execPath, [CLI, ...args], { cwd, env, encoding: 'utf8', timeout: 60_000 });
  };
  const WRITES = [
    ['user', 'create', 'ada@example.net'],
    ['put', 'a.acme.v1', 'x', '--user', 'ada@example.net'],
    ['put', 'a.acme.v1', 'x', '--as', 'ada@example.net'],
  ];

  it('no store in the current directory, and a write that nobody named a directory for makes none', () => {
    const cwd = mkdtempSync(join(dir, 'elsewhere-'));
    for (const line of [...WRITES, ['namespace', 'list'], ['backup', join(cwd, 'copy')]]) {
      const { status, stdout, stderr } = runIn(cwd, line);
      assert.deepEqual([status, stdout], [1, ''], line.join(' '));
      assert.match(stderr, /^UQRP_DATA_DIR .*data does not exist\. Set UQRP_DATA_DIR as for the server/);
      assert.deepEqual(readdirSync(cwd), [], line.join(' '));
    }
  });

  it('a data directory without a database: no command makes one there that was not told to', () => {
    const cwd = mkdtempSync(join(dir, 'empty-'));
    const data = join(cwd, 'data');
    mkdirSync(data, { mode: 0o700 });
    const reads = [
      ['namespace', 'list'],
      ['user', 'list'],
      ['backup', join(cwd, 'copy')],
    ];
    for (const settings of [{}, { UQRP_DATA_DIR: '' }, { UQRP_SECRET: 's'.repeat(32) }])
      for (const line of [...WRITES, ...reads]) {
        const { status, stdout, stderr } = runIn(cwd, line, settings);
        assert.deepEqual([status, stdout], [1, ''], line.join(' '));
        assert.match(
          stderr,
          /there is no store in .*data: start the server once, or name its directory|there is nothing to back up$/m,
        );
        assert.deepEqual([readdirSync(cwd), readdirSync(data)], [['data'], []], line.join(' '));
      }
    for (const line of reads) assert.equal(runIn(cwd, line, { UQRP_DATA_DIR: data }).status, 1);
    assert.deepEqual(readdirSync(data), []);
    const doctor = runIn(cwd, ['doctor', '--json'], { UQRP_RESOLVERS: '127.0.0.1' });
    const database = JSON.parse(doctor.stdout).find((one: { check: string }) => one.check === 'database');
    assert.equal(database.state, 'note', database.text);
  });

  it('nothing where UQRP_DATA_DIR names the directory: the first write makes the store, and says so', () => {
    const cwd = mkdtempSync(join(dir, 'named-'));
    WRITES.forEach((line, index) => {
      const settings = { UQRP_DATA_DIR: join(cwd, 'mine', String(index)) };
      const first = runIn(cwd, line, settings);
      assert.equal(first.status, 0, first.stderr);
      const note = `note: there was no store in ${settings.UQRP_DATA_DIR}, this made one\n`;
      assert.ok(first.stderr.startsWith(note), first.stderr);
      const again = runIn(cwd, ['put', 'b.acme.v1', 'x', '--user', 'ada@example.net'], settings);
      assert.deepEqual([again.status, again.stderr.includes('note: ')], [0, false]);
    });
    assert.deepEqual(readdirSync(cwd), ['mine']);
  });

  it('nothing in a checkout: ./data is that of npm run', () => {
    const root = mkdtempSync(join(dir, 'checkout-'));
    const own = fileURLToPath(new URL('../../', import.meta.url));
    for (const name of ['src', 'sdk', 'package.json'])
      cpSync(join(own, name), join(root, name), { recursive: true });
    symlinkSync(join(own, 'node_modules'), join(root, 'node_modules'));
    const { UQRP_DATA_DIR: _, ...env } = process.env;
    const cli = join(root, 'src/cli.ts');
    const made = spawnSync(process.execPath, [cli, ...WRITES[0]!], { cwd: root, env, encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    assert.ok(existsSync(join(root, 'data/uqrp.sqlite')));
  });

  it('nothing with PostgreSQL and UQRP_SECRET, which need no data directory', {
    skip: postgresMissing() ?? false,
  }, async () => {
    const database = await postgresDatabase();
    const cwd = mkdtempSync(join(dir, 'postgres-'));
    try {
      const url = { UQRP_DATABASE_URL: database.url };
      const refused = runIn(cwd, WRITES[0]!, url);
      assert.equal(refused.status, 1, 'a secret that nobody named a directory for');
      const made = runIn(cwd, WRITES[0]!, { ...url, UQRP_SECRET: 's'.repeat(32) });
      assert.deepEqual([made.status, made.stderr], [0, '']);
      assert.deepEqual(readdirSync(cwd), []);
    } finally {
      await database.drop();
    }
  });

  it('too few open files, by the limit', () => {
    const env = { ...process.env, ...settingsFor(join(dir, 'files')) };
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', `ulimit -n 40; "${process.execPath}" "${CLI}" serve`],
      {
        env,
        encoding: 'utf8',
      },
    );
    assert.equal(status, 1);
    assert.match(stderr, /may open 40 files.*ulimit -n/);
  });

  it('but not a wide umask or an open directory: those are closed (security finding 6)', async () => {
    const data = mkdtempSync(join(dir, 'open-'));
    chmodSync(data, 0o755);
    const opened = await startUqrp({ UQRP_WORKERS: '1' }, data);
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    assert.equal(modeOf(data), '700');
    const wide = readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => modeOf(path) !== '600' && !path.endsWith('cert.pem'));
    await opened.stop();
    assert.deepEqual(wide, []);
  });
});

describe('a start tells what an operator should know', () => {
  it('its name to ps, top and ss, and the next commands as they are typed there (operator finding 18)', async () => {
    const data = mkdtempSync(join(tmpdir(), "uqrp named it's-"));
    const { npm_lifecycle_event: _, ...bare } = process.env;
    for (const [lifecycle, command] of [
      [{}, 'uqrp'],
      [{ npm_lifecycle_event: 'start' }, 'npm run -s uqrp --'],
    ] as const) {
      const child = spawn(process.execPath, [CLI, 'serve'], {
        env: { ...bare, ...settingsFor(data), ...lifecycle },
      });
      const ending = ended(child);
      let out = '';
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
      });
      await eventually(async () => /token {2}.*\n/.test(out), 60_000);
      assert.equal(readFileSync(`/proc/${child.pid}/comm`, 'utf8'), 'uqrp\n');
      assert.ok(out.includes(`  token  TOKEN=$(${command} user token you@example.net)\n`), out);
      const [, word] = /curl --cacert (.*) 'https:/.exec(out)!;
      const read = execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' });
      assert.equal(read, join(data, 'tls', 'cert.pem'));
      child.kill('SIGTERM');
      assert.equal((await ending).code, 0);
    }
    rmSync(data, { recursive: true, force: true });
  });

  it('misspelt variables by name, the version, and a certificate that has ended', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-tells-'));
    const now = Date.UTC(2020, 0, 1);
    const { cert, key } = makeSelfSigned({ hosts: ['localhost'], now });
    writeFileSync(join(dir, 'cert.pem'), cert);
    writeFileSync(join(dir, 'key.pem'), key);
    const env = {
      ...settingsFor(join(dir, 'data')),
      UQRP_TLS_CERT: join(dir, 'cert.pem'),
      UQRP_TLS_KEY: join(dir, 'key.pem'),
      UQRP_DATADIR: '/misspelt',
    };
    const child = startCommand(process.execPath, [CLI, 'serve'], env);
    child.stdout?.once('data', () => {
      writeFileSync(join(dir, 'key.pem'), 'no key');
      child.kill('SIGHUP');
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('tls.failing')) child.kill('SIGTERM');
    });
    const { code, errors } = await ended(child);
    assert.equal(code, 0, errors);
    assert.match(errors, /"event":"config\.unknown","variable":"UQRP_DATADIR"/);
    assert.match(errors, /"event":"tls\.expiring","days":-\d+/);
    assert.match(errors, /"event":"tls\.failing","reason":"UQRP_TLS_KEY must be a PEM file/);
    assert.match(errors, /"event":"server\.started","version":"\d+\.\d+\.\d+(?:\+g[0-9a-f]{7})?"/);
    assert.equal(errors.includes('/misspelt'), false);
    rmSync(dir, { recursive: true, force: true });
  });
});
