import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { filesOf } from '../support/files-of.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are checked field by field
type Json = any;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Long enough to span more than one page of a file. */
const MARKER = 'markerofversions '.repeat(140);

interface Told {
  readonly status: number;
  readonly json: Json;
  readonly seq: string;
}

describe('history of a namespace on a running server', () => {
  let server: Uqrp;
  let call: (method: string, path: string, body?: unknown) => Promise<Told>;
  before(async () => {
    server = await startUqrp();
    const { base, token } = account(server, 'historian@example.net');
    call = async (method, path, body) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(base + path, {
        method,
        headers: body === undefined ? { authorization: headers.authorization } : headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      const json: Json = text === '' ? null : JSON.parse(text);
      return { status: answer.status, json, seq: answer.headers.get('x-service-seq') ?? '' };
    };
  });
  after(() => server.remove());

  const open = async (name: string): Promise<string> => {
    const { json } = await call('POST', '/namespaces', { namespace: { name } });
    server.cli(['namespace', 'public-read', name, 'on']);
    const kept = await call('PATCH', `/namespaces/${json.id}`, {
      namespace: { history: { versions: 10, days: 10 } },
    });
    assert.equal(kept.status, 200);
    return json.id;
  };
  const answers = (key: string, text: string | null): Promise<void> =>
    eventually(async () => (await read(server, `get.${key}`)).payload === text);

  it('DNS answers what a restore and an undo brought back', async () => {
    const id = await open('undone');
    const [a, b] = ['a.greeting.undone.v1', 'b.greeting.undone.v1'];
    const first = await call('POST', '/records', { record: { key: a, data: base64('one') } });
    await answers(a, 'one');
    await call('PATCH', `/records/${first.json.id}`, { record: { data: base64('two') } });
    await answers(a, 'two');
    const restored = await call('POST', `/records/${first.json.id}/restore`, { version: 1 });
    assert.equal(restored.status, 200);
    await answers(a, 'one');

    const bulk = await call('POST', '/records/bulk', {
      records: [{ key: b, data: base64('new') }],
      delete: [a],
    });
    await answers(a, null);
    await answers(b, 'new');
    const undone = await call('POST', `/namespaces/${id}/undo`, { write: bulk.seq });
    assert.equal(undone.status, 200, JSON.stringify(undone.json));
    await answers(a, 'one');
    await answers(b, null);
    const again = await call('POST', `/namespaces/${id}/restore`, { key: b, version: 1 });
    assert.equal(again.status, 201);
    await answers(b, 'new');
  });

  it('after its end no octet of a version is in database file, write-ahead log, view, or a later backup', async () => {
    const id = await open('ended');
    const key = 'a.doc.ended.v1';
    const { json } = await call('POST', '/records', { record: { key, data: base64(MARKER) } });
    await call('PATCH', `/records/${json.id}`, { record: { data: base64('now') } });
    const kept = await call('GET', `/records/${json.id}/versions/1`);
    assert.equal(Buffer.from(kept.json.data, 'base64').toString(), MARKER);

    const file = join(server.dataDir, 'uqrp.sqlite');
    const history = rowsOf(file, `select history_id as id from namespaces where id = '${id}'`)[0]?.id;
    const key1 = rowsOf(file, `select secret from history_keys where history_id = ${String(history)}`)[0]
      ?.secret;
    const body = rowsOf(
      file,
      `select data from record_versions where history_id = ${String(history)} and data is not null`,
    )[0];
    const secrets = [key1, body?.data].map((octets) => Buffer.from(octets as Uint8Array));
    const found = (octets: Buffer | string): boolean =>
      filesOf(server.dataDir).some((one) => one.includes(octets));
    // The log let go of it, and what is kept is encrypted: in no file is the text itself.
    await eventually(async () => !found('markerofversions'));
    assert.deepEqual(
      secrets.map((one) => found(one.subarray(0, 64))),
      [true, true],
    );

    const ended = await call('PATCH', `/namespaces/${id}`, { namespace: { history: null } });
    assert.equal(ended.status, 200);
    await eventually(async () => !secrets.some((one) => found(one.subarray(0, 64))));
    assert.equal((await call('GET', `/records/${json.id}/versions/1`)).status, 422);
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-history-'));
    try {
      server.cli(['backup', join(dir, 'backup')]);
      const copied = filesOf(dir);
      for (const octets of ['markerofversions', ...secrets.map((one) => one.subarray(0, 64))]) {
        assert.equal(
          copied.some((one) => one.includes(octets)),
          false,
        );
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

function rowsOf(file: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  try {
    return database.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    database.close();
  }
}
