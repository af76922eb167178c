import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { type Ended, runCli, settingsFor } from '../support/command.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { type PostgresDatabase, postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually, read } from './client.ts';

const OWNER = ['--user', 'put@example.net', '--public-read'] as const;

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  const skip = engine === 'PostgreSQL' ? (postgresMissing() ?? false) : false;
  describe(`the commands put and delete beside a server on ${engine}`, { skip }, () => {
    let server: Uqrp;
    let env: NodeJS.ProcessEnv;
    let database: PostgresDatabase | null = null;

    before(async () => {
      database = engine === 'PostgreSQL' ? await postgresDatabase() : null;
      const store = database === null ? {} : { UQRP_DATABASE_URL: database.url };
      server = await startUqrp({ ...store, UQRP_WORKERS: '1' });
      env = { ...settingsFor(server.dataDir), ...store, UQRP_DNS_PORT: String(server.ports.dns) };
    });
    after(async () => {
      await server.remove();
      await database?.drop();
    });

    const AWAY =
      /^warning: no server runs over .*, so nothing answers yet\. Run uqrp serve with the same UQRP_DATA_DIR\.\n$/;

    const run = (args: readonly string[], input?: string): Promise<Ended> => runCli(args, env, input);
    const payload = async (key: string): Promise<string | null> => (await read(server, `get.${key}`)).payload;

    it('make account and namespace, store text without Base64, and print the command that reads it', async () => {
      const { code, out, errors } = await run(['put', 'Greeting.acme.v1', 'hello world', ...OWNER]);
      assert.equal(errors, '');
      assert.equal(code, 0);
      assert.equal(
        out,
        `greeting.acme.v1: 11 bytes stored\n  dig @127.0.0.1 -p ${server.ports.dns} TXT get.greeting.acme.v1.uqrp.net +short\n`,
      );
      await eventually(async () => (await payload('greeting.acme.v1')) === 'hello world');
    });

    it('replace a record, read standard input, and take type, TTL and expiry', async () => {
      const put = ['put', 'greeting.acme.v1', '-', '--type', 'application/json', '--ttl', '7'];
      const { out } = await run([...put, '--expires-in', '3600', '--json'], '{"grüß":1}');
      const written = JSON.parse(out);
      assert.deepEqual([written.key, written.bytes, written.public_read], ['greeting.acme.v1', 12, true]);
      await eventually(async () => (await payload('greeting.acme.v1')) === '{"grüß":1}');
      const { answers } = JSON.parse((await run(['query', 'get.greeting.acme.v1', '--json'])).out);
      assert.equal(answers[0].envelope.ttl, '7');
      const [record] = (await run(['export', 'acme'])).out.trim().split('\n');
      const { content_type, expires_at } = JSON.parse(record!);
      assert.equal(content_type, 'application/json');
      assert.ok(Date.parse(expires_at) > Date.now());
    });

    it('delete a record by its key, and say so when there is none', async () => {
      assert.equal((await run(['put', 'gone.acme.v1', 'x'])).code, 0);
      await eventually(async () => (await payload('gone.acme.v1')) === 'x');
      assert.equal((await run(['delete', 'gone.acme.v1'])).out, 'gone.acme.v1 deleted\n');
      await eventually(async () => (await payload('gone.acme.v1')) === null);
      const again = await run(['delete', 'gone.acme.v1']);
      assert.deepEqual([again.code, again.errors], [1, 'there is no record gone.acme.v1\n']);
    });

    it('leave a new namespace private unless told otherwise', async () => {
      const { out } = await run(['put', 'a.quiet.v1', 'x', '--user', 'put@example.net']);
      assert.match(out, /TXT get\.auth-TOKEN\.a\.quiet\.v1\.uqrp\.net \+short\n {2}TOKEN is a query token/);
      const { answers, status } = JSON.parse((await run(['query', 'get.a.quiet.v1', '--json'])).out);
      assert.deepEqual([status, answers], ['REFUSED', []]);
    });

    it('take --as in place of --user, and erase the record after --expires', async () => {
      const { code, errors } = await run([
        'put',
        'brief.quiet.v1',
        'x',
        '--as',
        'put@example.net',
        '--expires',
        '7d',
      ]);
      assert.deepEqual([code, errors], [0, '']);
      const lines = (await run(['export', 'quiet'])).out.trim().split('\n');
      const record = lines.map((line) => JSON.parse(line)).find(({ key }) => key === 'brief.quiet.v1');
      const days = (Date.parse(record.expires_at) - Date.now()) / 86_400_000;
      assert.ok(days > 6.9 && days <= 7, `${days}`);
    });

    // The rules are those of the use cases, whose suites run on both engines.
    const onlyOnce = { skip: engine !== 'SQLite' };
    it('refuse what the REST API refuses, in plain words, and write nothing then', onlyOnce, async () => {
      for (const [args, message] of [
        [['put', 'a.nosuch.v1', 'x'], /^the namespace nosuch does not exist\. Add --user EMAIL/],
        [['put', 'a.acme.v1', 'x', '--user', 'other@example.net'], /^the namespace acme belongs to another/],
        [['put', 'a.google.v1', 'x', '--user', 'new@example.net'], /cannot be made: name is reserved\n$/],
        [['put', 'a.fresh.x1', 'x', '--user', 'new@example.net'], /^key must end in a version/],
        [
          ['put', 'a.fresh.v1', 'x'.repeat(2587), '--user', 'new@example.net'],
          /^data is longer than 2586 bytes\n$/,
        ],
        [['put', 'a.acme.v1', 'x', '--ttl', '9999999999'], /^ttl_seconds must be /],
        [['put', 'a.acme.v1', 'x', '--type', 'text'], /^content_type is not a media type\n$/],
        [['put', 'a.acme.v1', 'x', '--expires-at', '2020-01-01T00:00:00Z'], /^expires_at must be /],
        [['delete', 'a.v1'], /^key must be /],
        [['delete', 'a.nosuch.v1'], /^Namespace not found\n$/],
      ] as const) {
        const { code, errors } = await run(args);
        assert.match(errors, message);
        assert.equal(code, 1, errors);
      }
      const users = JSON.parse((await run(['user', 'list', '--json'])).out);
      assert.deepEqual(
        users.map(({ email }: { email: string }) => email),
        ['put@example.net'],
      );
      for (const args of [
        ['put', 'a.acme.v1'],
        ['put', 'a.acme.v1', 'x', '--file', 'f'],
        ['put', 'a.acme.v1', 'x', '--expires', '1'],
        ['put', 'a.acme.v1', 'x', '--expires', '1h', '--expires-in', '1'],
        ['put', 'a.acme.v1', 'x', '--as', 'put@example.net', '--user', 'put@example.net'],
        ['put', 'a.acme.v1', 'x', '--api', 'http://127.0.0.1'],
        ['put', 'a.acme.v1', 'x', '--ttl', 'soon'],
        ['put', 'a.acme.v1', 'x', '--expires-in', '1', '--expires-at', '2030-01-01T00:00:00Z'],
      ]) {
        assert.equal((await run(args)).code, 2);
      }
    });

    it('warn when no server runs over the data directory, also after one was killed', onlyOnce, async (t) => {
      const own = await startUqrp({ UQRP_WORKERS: '1' });
      t.after(() => own.remove());
      const put = ['put', 'a.away.v1', 'x', ...OWNER];
      const beside = await runCli(put, settingsFor(own.dataDir));
      assert.deepEqual([beside.code, beside.errors], [0, '']);
      const gone = once(own.child, 'exit');
      own.child.kill('SIGKILL');
      await gone;
      for (const args of [put, [...put, '--json']]) {
        const { code, out, errors } = await runCli(args, settingsFor(own.dataDir));
        assert.equal(code, 0);
        assert.match(out, /a\.away\.v1/);
        assert.match(errors, AWAY);
      }
    });

    it('refuse a write into a suspended namespace', async () => {
      await run(['namespace', 'suspend', 'quiet', 'on']);
      const { code, errors } = await run(['put', 'a.quiet.v1', 'y']);
      assert.deepEqual([code, errors], [1, 'Namespace is suspended\n']);
    });
  });
}
