/**
 * Starts what deploy/compose.nodes.yaml describes without Docker: its commands and its services with their variables, by the real nats-server,
 * a real PostgreSQL and this checkout. Then a record is written at control and read at the edge. Both compose files are also compared
 * with the image and the table of variables.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { ENVIRONMENT } from '../../src/ops/config/env.ts';
import { dockerIgnores, only, parseDockerfile } from '../support/deploy/dockerfile.ts';
import { deployPath, deployText } from '../support/deploy/unit-file.ts';
import { type NatsServer, natsMissing, runNats } from '../support/feed/bus/nats-server.ts';
import { freePort } from '../support/free-port.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { type PostgresDatabase, postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const FILES = ['compose.yaml', 'compose.nodes.yaml'] as const;
const EXPOSED = only(parseDockerfile(deployText('Dockerfile')).at(-1)!, 'EXPOSE').split(' ');
const LIMIT_MS = 60_000;

interface ComposeService {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, null>>;
}

const compose = (file: string): Compose => parse(deployText(file)) as Compose;

describe('compose files', () => {
  for (const file of FILES) {
    it(`${file} fits the image, and names only what it declares`, () => {
      const { services, volumes } = compose(file);
      for (const [name, service] of Object.entries(services)) {
        for (const variable of Object.keys(service.environment ?? {}))
          if (name !== 'postgres') assert.ok(variable in ENVIRONMENT, variable);
        for (const other of Object.keys(service.depends_on ?? {})) assert.ok(other in services, other);
        for (const volume of service.volumes ?? []) {
          const [source = ''] = volume.split(':');
          assert.ok(source.startsWith('./') || source in volumes, source);
        }
        for (const port of service.ports ?? []) {
          const inside = port.split(':').at(-1)!;
          assert.ok(
            EXPOSED.some((each) => each === inside || each === inside.replace('/tcp', '')),
            port,
          );
        }
      }
    });
  }
});

describe('the image that compose.nodes.yaml builds', () => {
  const secrets = [
    '.env',
    'deploy/.env',
    'deploy/.env.local',
    'deploy/edge1.creds',
    'docs/server.key',
    'deploy/tls/a.pem',
  ];

  it('has no password, secret or credentials that were written into the checkout', (t) => {
    const root = mkdtempSync(join(tmpdir(), 'uqrp-context-'));
    t.after(() => rmSync(root, { recursive: true }));
    cpSync(fileURLToPath(new URL('../../package.json', import.meta.url)), join(root, 'package.json'));
    cpSync(deployPath('.'), join(root, 'deploy'), { recursive: true });
    for (const path of secrets) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), 'UQRP_SECRET=x');
    }
    const out = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
    });
    const [{ files }] = JSON.parse(out) as [{ files: readonly { path: string }[] }];
    const packed = files.map(({ path }) => path);
    assert.deepEqual(
      packed.filter((path) => secrets.includes(path)),
      [],
    );
    assert.ok(packed.includes('deploy/systemd/uqrp.env'));

    const isIgnored = dockerIgnores(deployText('Dockerfile.dockerignore'));
    assert.deepEqual(
      secrets.filter((path) => !isIgnored(path)),
      [],
    );
    assert.deepEqual(['deploy/systemd/uqrp.env', 'src/cli.ts', 'package.json'].filter(isIgnored), []);
  });
});

const missing = natsMissing() ?? postgresMissing() ?? false;

describe('compose.nodes.yaml', { skip: missing }, () => {
  const text = deployText('compose.nodes.yaml');
  const { services } = compose('compose.nodes.yaml');
  let folder: string;
  let database: PostgresDatabase;
  let nats: NatsServer;
  const servers: Uqrp[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-compose-'));
    mkdirSync(join(folder, 'data'));
    database = await postgresDatabase();
  });
  after(async () => {
    for (const server of servers) await server.stop();
    await nats?.remove();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The variables of a service, with the places of this machine. */
  function environment(name: string, secrets: Readonly<Record<string, string>>): Record<string, string> {
    const places: Readonly<Record<string, string>> = {
      '/credentials/feed/': join(folder, 'control/'),
      '/credentials/edge1.creds': join(folder, 'edge1.creds'),
    };
    return Object.fromEntries(
      Object.entries(services[name]?.environment ?? {}).map(([variable, value]) => {
        let filled = value.replace(/\$\{(\w+):\?\}/g, (_, of: string) => secrets[of] ?? assert.fail(of));
        for (const [from, to] of Object.entries(places)) filled = filled.replace(from, to);
        return [variable, filled];
      }),
    );
  }

  it('writes at control and reads at the edge', async () => {
    const port = await freePort();
    // The commands of the page, as "docker compose run tool" runs them.
    const commands = [
      ...text.matchAll(
        /^# +docker compose -f compose\.nodes\.yaml run --rm (?:-T )?tool (.*?)(?: > (\S+))?$/gm,
      ),
    ];
    assert.equal(commands.length, 2);
    for (const [, words = '', file] of commands) {
      const here = words
        .replaceAll('/data/feed', join(folder, 'data/feed'))
        .replace('0.0.0.0:4222', `127.0.0.1:${port}`)
        .replace('--host nats', '--host localhost');
      const out = execFileSync(process.execPath, [CLI, ...here.split(' ')], { encoding: 'utf8' });
      if (file !== undefined) writeFileSync(join(folder, file), out, { mode: 0o600 });
    }
    // What the broker and control get: each only what it needs, also when it is copied again.
    const made = join(folder, 'data/feed');
    const [broker, own] = [join(folder, 'broker'), join(folder, 'control')];
    for (const path of [broker, own]) mkdirSync(path);
    const script = (services['feed-files']?.command?.[2] ?? '')
      .replace('/feed-data/feed', made)
      .replaceAll('/broker/', `${broker}/`)
      .replaceAll('/control/', `${own}/`)
      .replace('chown 65532:65532', 'ls');
    for (let start = 0; start < 2; start++) execFileSync('sh', ['-c', script]);
    assert.deepEqual(readdirSync(broker).sort(), [
      'ca.pem',
      'nats-server.conf',
      'nodes.conf',
      'server.key',
      'server.pem',
    ]);
    assert.deepEqual(readdirSync(own).sort(), ['control.creds', 'nodes.json']);
    for (const name of ['ca.key', 'control.creds', 'nodes.json'])
      renameSync(join(made, name), join(folder, name));
    const [, configuration = ''] = services.nats?.command ?? [];
    nats = await runNats(configuration.replace('/data/', `${folder}/data/`), `127.0.0.1:${port}`, folder);

    const secrets = { POSTGRES_PASSWORD: 'p'.repeat(32), UQRP_SECRET: 's'.repeat(64) };
    const { POSTGRES_USER: user, POSTGRES_DB: name } = services.postgres?.environment ?? {};
    const { UQRP_DATABASE_URL: url, ...control } = environment('control', secrets);
    assert.equal(url, `postgres://${user}:${secrets.POSTGRES_PASSWORD}@postgres:5432/${name}`);
    const writer = await startUqrp({ ...control, UQRP_WORKERS: '1', UQRP_DATABASE_URL: database.url });
    servers.push(writer);
    const edge = await startUqrp({ ...environment('edge', secrets), UQRP_WORKERS: '1' });
    servers.push(edge);
    writer.cli(['put', 'greeting.acme.v1', 'hello world', '--user', 'you@example.net', '--public-read']);
    const ask = [
      'query',
      'get.greeting.acme.v1.dns.example.com',
      '--server',
      '127.0.0.1',
      '--port',
      `${edge.ports.dns}`,
    ];
    const until = Date.now() + LIMIT_MS;
    let answer = '';
    while (!answer.includes('hello world')) {
      assert.ok(Date.now() < until, answer);
      try {
        answer = edge.cli(ask);
      } catch {
        // No answer yet.
      }
    }
  });
});
