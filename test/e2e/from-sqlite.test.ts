import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually, read } from './client.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PAGE = readFileSync(new URL('../../docs/operations/postgresql.md', import.meta.url), 'utf8');

/** The lines of the blocks of "From SQLite", without comments: what is run over SQLite, over PostgreSQL, and over the server that then runs. */
function commands(): readonly [readonly string[], readonly string[], readonly string[]] {
  const [, section = ''] = PAGE.split('\n## From SQLite\n');
  const blocks = section.split('\n## ')[0]!.matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  const [before, after, settings] = [...blocks].map(([, text = '']) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.replace(/\s*#.*$/, '')),
  );
  return [before!, after!, settings!];
}

function uqrp(line: string, env: NodeJS.ProcessEnv, input = ''): string {
  const words = line.replace(/ [<>] \S+$/, '').split(' ');
  assert.equal(words[0], 'uqrp', line);
  const options = { env: { ...process.env, ...env }, encoding: 'utf8', input } as const;
  return execFileSync(process.execPath, [CLI, ...words.slice(1)], options);
}

/** What `curl` of the page does. @param body of the PATCH */
async function setOver(server: Uqrp, namespace: string, body: string): Promise<void> {
  const list = JSON.parse(server.cli(['--json', 'namespace', 'list'])) as { name: string; id: string }[];
  const { id } = list.find(({ name }) => name === namespace)!;
  const token = server.cli(['user', 'token', 'you@example.net']).trim();
  const answer = await fetch(`http://127.0.0.1:${server.ports.http}/api/v1/namespaces/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  assert.equal(answer.status, 200, await answer.text());
}

describe('the move from SQLite to PostgreSQL', { skip: postgresMissing() ?? false }, () => {
  const [before, after, settings] = commands();
  /** Without ids, which are new. */
  const listed = (list: string): string => list.replace(/ +\S+$/gm, '');

  it('exports from a server that was stopped, so that no acknowledged write is lost', () => {
    const stop = before.findIndex((line) => line.startsWith('systemctl stop'));
    const first = before.findIndex((line) => line.startsWith('uqrp '));
    assert.ok(stop >= 0 && stop < first, before.join('\n'));
  });

  it('keeps records, tiers, suspensions, max_ttl, history and DS records when the commands of the page are run', async () => {
    const database = await postgresDatabase();
    const old = await startUqrp({ UQRP_WORKERS: '1' });
    const sqlite = { UQRP_DATA_DIR: old.dataDir };
    const postgres = { ...sqlite, UQRP_DATABASE_URL: database.url, UQRP_SECRET: 's'.repeat(32) };
    const of = (namespace: string, line: string) => line.replace('acme', namespace);
    try {
      old.cli(['user', 'create', 'you@example.net', '--tier', 'pro']);
      for (const name of ['acme', 'evil']) {
        old.cli(['put', `greeting.${name}.v1`, name, '--as', 'you@example.net', '--public-read']);
      }
      old.cli(['namespace', 'suspend', 'evil', 'on']);
      const setBody = /-d '(.*)'$/.exec(settings.at(-1)!)![1]!;
      await setOver(old, 'acme', setBody);
      const ds = old.cli(['dnssec', 'ds']);
      const list = old.cli(['namespace', 'list']);
      assert.match(list, /^acme\s+you@example\.net\s+1\s+on\s+off\s+5\s+10\/90d\s/m);
      await old.stop();
      const exporting = before.find((line) => line.startsWith('uqrp export'))!;
      const exported = new Map(['acme', 'evil'].map((name) => [name, uqrp(of(name, exporting), sqlite)]));
      rmSync(join(old.dataDir, 'view'), { recursive: true });

      const [account, ...steps] = after;
      uqrp(account!, postgres);
      for (const [name, lines] of exported) {
        for (const step of steps) {
          const isSuspension = step.includes('suspend');
          if (!isSuspension || name === 'evil') uqrp(of(name, step), postgres, lines);
        }
      }
      const moved = await startUqrp({ ...postgres, UQRP_WORKERS: '1' }, old.dataDir);
      try {
        await eventually(async () => (await read(moved, 'get.greeting.acme.v1')).payload === 'acme');
        assert.equal((await read(moved, 'get.greeting.evil.v1')).rcode, 'REFUSED');
        assert.match(moved.cli(['user', 'list']), /you@example\.net\s+pro\s+2\s/);
        await setOver(moved, 'acme', setBody);
        assert.equal(listed(moved.cli(['namespace', 'list'])), listed(list));
        assert.match(moved.cli(['namespace', 'list']), /^evil\s+you@example\.net\s+1\s+on\s+on\s/m);
        assert.equal(moved.cli(['dnssec', 'ds']), ds);
      } finally {
        await moved.stop();
      }
    } finally {
      await old.remove();
      await database.drop();
    }
  });
});
