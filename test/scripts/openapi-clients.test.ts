/** What docs/API.md says of clients that are generated from the OpenAPI documents: other people's tools run as they run them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENTS = ['openapi.json', 'openapi-dns.json'] as const;

/** The smallest body of each POST and PATCH that has one, as docs/API.md has it. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { paths } from './openapi.d.ts';
import type { paths as dnsPaths } from './openapi-dns.d.ts';

const c = createClient<paths>({ baseUrl: 'http://localhost' });
const id = '0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77';
const params = { path: { id } };

export async function calls(): Promise<void> {
  const record = await c.POST('/records', { body: { record: { key: 'a.acme.v1', data: '' } } });
  const key: string | undefined = record.data?.key;
  await c.POST('/records/bulk', { body: { records: [{ key: key ?? '', data: '' }] } });
  await c.PATCH('/records/{id}', { params, body: { record: { data: '' } } });
  const namespace = await c.POST('/namespaces', { body: { namespace: { name: 'acme' } } });
  const ttl: number | undefined = namespace.data?.max_ttl;
  await c.PATCH('/namespaces/{id}', { params, body: { namespace: { max_ttl: ttl ?? 60 } } });
  await c.POST('/namespaces/{id}/query_tokens', { params, body: { name: 'a' } });
  await c.POST('/api_keys', { body: { api_key: { name: 'a' } } });
  const webhook = { name: 'a', url: 'https://a.example/', events: ['record.deleted' as const] };
  await c.POST('/webhooks', { body: { webhook } });
  await c.PATCH('/webhooks/{id}', { params, body: { webhook: { enabled: false } } });
  await c.POST('/auth/sign_in', { body: { email: 'a@example.net' } });
  await c.POST('/auth/verify', { body: { email: 'a@example.net', code: '123456' } });
  await c.POST('/organizations', { body: { organization: { name: 'a' } } });
  await c.GET('/records', { params: { query: { namespace: 'acme' } } });
  // @ts-expect-error: the name is required
  await c.POST('/api_keys', { body: { api_key: {} } });

  const dns = createClient<dnsPaths>({ baseUrl: 'https://localhost:8443' });
  const answer = await dns.GET('/resolve', { params: { query: { name: 'get.a.acme.v1.uqrp.net', type: 'TXT' } } });
  const text: string | undefined = answer.data?.Answer?.[0]?.data;
  await dns.GET('/schema', { params: { query: { q: 'info.units.public.v1' } } });
  void text;
}
`;

describe('a client that is generated from docs/openapi.json and docs/openapi-dns.json', () => {
  let folder: string;
  before(() => {
    // Below the checkout, so that the compiler finds openapi-fetch.
    mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
    folder = mkdtempSync(join(ROOT, 'node_modules/.cache/openapi-clients-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (command: string, args: readonly string[]): void => {
    const path = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH ?? ''}`;
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
    });
    assert.equal(status, 0, `${command}: ${stdout}${stderr}`);
  };

  it('finding M2 of the audit: takes the smallest POST of each kind, with the documented command', () => {
    const command = 'npx openapi-typescript openapi.json -o uqrp.d.ts';
    assert.ok(readFileSync(join(ROOT, 'docs/API.md'), 'utf8').includes(command));
    for (const name of DOCUMENTS) {
      copyFileSync(join(ROOT, 'docs', name), join(folder, name));
      run('openapi-typescript', [name, '-o', name.replace('.json', '.d.ts')]);
    }
    writeFileSync(join(folder, 'program.ts'), PROGRAM);
    const options =
      '--ignoreConfig --strict --noEmit --target es2024 --module nodenext --skipLibCheck --allowImportingTsExtensions';
    run('tsc', [...options.split(' '), 'program.ts']);
  });
});

describe('the patterns of the OpenAPI documents', () => {
  const patterns = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { pattern } = value as { pattern?: unknown };
    if (typeof pattern === 'string') patterns.add(pattern);
    for (const part of Object.values(value)) collect(part);
  };
  for (const name of DOCUMENTS) collect(JSON.parse(readFileSync(join(ROOT, 'docs', name), 'utf8')));
  const input = JSON.stringify([...patterns]);

  const missing = (command: string, flag: string): string | false =>
    spawnSync(command, [flag]).status === 0 ? false : `${command} is not installed`;

  it('finding M3 of the audit: compile in Python', { skip: missing('python3', '--version') }, () => {
    const program = 'import json, re, sys\nfor p in json.load(sys.stdin): re.compile(p)';
    const { status, stderr } = spawnSync('python3', ['-c', program], { input, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });

  it('finding M3 of the audit: compile in RE2, as Go has it', { skip: missing('go', 'version') }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'patterns-'));
    try {
      const program = `package main
import ("encoding/json"; "os"; "regexp")
func main() {
  var all []string
  if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil { panic(err) }
  for _, p := range all { regexp.MustCompile(p) }
}`;
      writeFileSync(join(folder, 'main.go'), program);
      const env = { ...process.env, GOCACHE: join(folder, 'cache'), GO111MODULE: 'off', GOFLAGS: '' };
      const { status, stderr } = spawnSync('go', ['run', 'main.go'], {
        cwd: folder,
        input,
        encoding: 'utf8',
        env,
      });
      assert.equal(status, 0, stderr);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('refuse what the server refuses of a name, and nothing else', () => {
    const line = [...patterns].find((pattern) => pattern.includes('\u2028'));
    assert.ok(line !== undefined);
    const name = new RegExp(line, 'u');
    for (const text of ['a', 'é 🎉', ' ', '\u00a0', '\u202a', '~']) assert.ok(name.test(text), text);
    for (const code of [0, 9, 10, 0x1f, 0x7f, 0x80, 0x9f, 0x2028, 0x2029]) {
      assert.equal(name.test(`a${String.fromCharCode(code)}`), false, String(code));
    }
  });
});
