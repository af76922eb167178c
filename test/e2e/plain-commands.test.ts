import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { type Ended, runCli, settingsFor } from '../support/command.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('plain text on the command line', () => {
  let server: Uqrp;
  let owner: Account;
  let env: NodeJS.ProcessEnv;
  let dir: string;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-plain-'));
    server = await startUqrp({ UQRP_WORKERS: '1' });
    owner = account(server);
    env = {
      ...settingsFor(join(dir, 'none')),
      UQRP_HTTP_PORT: String(server.ports.http),
      UQRP_DNS_PORT: String(server.ports.dns),
      UQRP_TOKEN: owner.token,
    };
    for (const name of ['acme', 'copy']) await owner.call('POST', '/namespaces', { namespace: { name } });
    for (const name of ['acme', 'copy']) server.cli(['namespace', 'public-read', name, 'on']);
  });
  after(async () => {
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  async function run(...args: string[]): Promise<Ended> {
    const ended = await runCli(args, env);
    assert.equal(ended.code, 0, ended.errors);
    return ended;
  }
  async function encodingOf(key: string): Promise<string | undefined> {
    const { body } = await owner.call('GET', `/records?key=${key}`);
    return (body as { encoding?: string }[])[0]?.encoding;
  }

  it('put chooses it, read and query show the text', async () => {
    const key = 'greeting.acme.v1';
    const put = await run('put', key, 'a;b=c;d=e');
    assert.equal(put.out, `${key}: 9 bytes stored\n`);
    assert.equal(await encodingOf(key), 'plain');
    await eventually(async () => (await runCli(['read', key], env)).out === 'a;b=c;d=e');
    await run('put', key, 'grüße', '--plain');
    await eventually(async () => (await runCli(['read', key], env)).out === 'grüße');
    const { answers } = JSON.parse((await run('query', `get.${key}`, '--json')).out);
    assert.deepEqual(
      [answers[0].envelope.e, answers[0].envelope.d, answers[0].payload],
      ['plain', 'grüße', 'grüße'],
    );
    await run('put', key, 'grüße');
    assert.equal(await encodingOf(key), undefined);
    await run('put', key, 'x', '--b64');
    assert.equal(await encodingOf(key), undefined);
    const refused = await runCli(['put', key, 'a\nb', '--plain'], env);
    assert.deepEqual([refused.code, refused.errors], [1, 'data has octets that plain text cannot have\n']);
    const both = await runCli(['put', key, 'a', '--plain', '--b64'], env);
    assert.equal(both.code, 2);
  });

  it('export, import, apply and promote keep it', async () => {
    await run('put', 'a.r.acme.v1', 'one');
    const exported = server.cli(['export', 'acme']);
    assert.match(
      exported,
      /"key":"a\.r\.acme\.v1","data":"b25l","content_type":"text\/plain","encoding":"plain"/,
    );
    const file = join(dir, 'lines');
    writeFileSync(file, exported);
    assert.match(server.cli(['import', 'acme', file, '--dry-run']), /acme: 0 new, 0 replaced, 2 unchanged/);
    writeFileSync(file, exported.replace('"encoding":"plain",', ''));
    assert.match(server.cli(['import', 'acme', file, '--dry-run']), /1 replaced, 1 unchanged/);
    writeFileSync(file, exported);
    server.cli(['import', 'acme', file]);
    assert.equal(await encodingOf('a.r.acme.v1'), 'plain');

    await run('promote', 'acme', 'copy');
    assert.equal(await encodingOf('a.r.copy.v1'), 'plain');
    const files = mkdtempSync(join(dir, 'files-'));
    writeFileSync(join(files, 'note.txt'), 'one');
    const settings = { namespace: 'copy', settings: { 'note.copy.v1': { plain: true } } };
    writeFileSync(join(files, 'uqrp.json'), JSON.stringify(settings));
    await run('apply', files);
    assert.equal(await encodingOf('note.copy.v1'), 'plain');
    assert.match((await run('apply', files, '--dry-run')).out, /0 changed, 0 new/);
  });

  it('put writes Base64 to a server of an earlier release, unless --plain asks for more', async () => {
    type Body = { readonly records: readonly [{ readonly key: string; readonly encoding?: string }] };
    const bodies: Body['records'][number][] = [];
    const older = createServer((request, response) => {
      void json(request).then((body) => answer(body as Body, response));
    });
    const answer = ({ records: [record] }: Body, response: ServerResponse): void => {
      bodies.push(record);
      if (record.encoding === undefined) {
        response.end(JSON.stringify({ records: [{ id: 'i', key: record.key }], deleted: [] }));
        return;
      }
      const errors = ['records[0].encoding is not a known field'];
      response.writeHead(422).end(JSON.stringify({ errors, code: 'validation_error' }));
    };
    older.listen(0, '127.0.0.1');
    await once(older, 'listening');
    const api = ['--api', `http://127.0.0.1:${(older.address() as AddressInfo).port}`];
    assert.equal((await run('put', 'a.acme.v1', 'hi', ...api)).out, 'a.acme.v1: 2 bytes stored\n');
    assert.deepEqual(
      bodies.map(({ encoding }) => encoding),
      ['plain', undefined],
    );
    const forced = await runCli(['put', 'a.acme.v1', 'hi', '--plain', ...api], env);
    assert.deepEqual([forced.code, forced.errors], [1, 'encoding is not a known field\n']);
    older.close();
  });
});
