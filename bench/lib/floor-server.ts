/**
 * What `POST /records` costs at least on Node and SQLite: a program that takes the body with `node:http`, parses it, writes the rows that the product
 * writes, in groups with one commit, and answers. It checks nothing: no token, no shape, no limit, no view, no change to tell.
 *
 *   node bench/lib/floor-server.ts DIR [http]     DIR: data of a server that has stopped; `http`: without any row
 *
 * Prints its port.
 */
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { timeOrderedUuids } from '../../src/base/ids.ts';

interface Waiting {
  readonly record: { readonly key: string; readonly data: string };
  readonly response: ServerResponse;
}

const [, , dir, what] = process.argv;
const database = new DatabaseSync(join(dir!, 'uqrp.sqlite'));
for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'secure_delete = ON', 'foreign_keys = ON'])
  database.exec(`pragma ${pragma}`);
const { id: namespace, owner } = database
  .prepare('select id, customer_id as owner from namespaces limit 1')
  .get() as { id: string; owner: string };
const [begin, savepoint, release, commit] = [
  'begin immediate',
  'savepoint unit',
  'release unit',
  'commit',
].map((sql) => database.prepare(sql));
const countOfCustomer = database.prepare(
  'update customers set records_count = records_count + 1 where id = ? and records_count <= 1000000000 returning id',
);
const countOfNamespace = database.prepare(
  'update namespaces set records_count = records_count + 1 where id = ? and closing = 0 returning id',
);
const insertRecord = database.prepare(
  `insert into records (id, namespace_id, key, resource, version, data, content_type, ttl_seconds, created_at, updated_at, revision)
   values (?, ?, ?, ?, ?, ?, ?, 300, ?, ?, 1) on conflict (key) do nothing returning id`,
);
const nextSeq = database.prepare('update feed_head set seq = seq + 1 where id = 1 returning seq');
const insertChange = database.prepare(
  `insert into change_log (seq, at, owner, cause, type, namespace, key, body, data)
   values (?, ?, ?, 'write', 'record.upserted', 'bench', ?, ?, ?)`,
);
const insertBlock = database.prepare(
  'insert into feed_blocks (owner, block) values (?, ?) on conflict do nothing',
);
const insertAudit = database.prepare(
  `insert into audit_log (customer_id, at, id, request_id, actor_kind, actor_id, actor_name, action, outcome, object_kind, object_id,
   object_name, namespace, count, tag_before, tag_after, seq)
   values (?, ?, ?, ?, 'session', ?, 'test@example.net', 'record.created', 'done', 'record', ?, ?, 'bench', null, null, 1, ?)`,
);

const newId = timeOrderedUuids(Date.now);
let waiting: Waiting[] = [];

function write({ record: { key, data } }: Waiting): object {
  const id = newId();
  const now = Date.now();
  countOfCustomer.all(owner);
  countOfNamespace.all(namespace);
  const value = Buffer.from(data, 'base64');
  insertRecord.all(id, namespace, key, key.split('.')[0]!, 'v1', value, 'text/plain', now, now);
  const { seq } = nextSeq.get() as { seq: number };
  insertChange.run(seq, now, owner, key, `{"id":"${id}","v":"v1","type":"text/plain"}`, value);
  insertBlock.run(owner, seq >> 10);
  insertAudit.run(owner, now, newId(), id, owner, id, key, seq);
  return answerOf(id, key, data, now);
}

function answerOf(id: string, key: string, data: string, at: number): object {
  const time = new Date(at).toISOString();
  return {
    id,
    key,
    data,
    content_type: 'text/plain',
    ttl: null,
    expires_at: null,
    created_at: time,
    updated_at: time,
  };
}

function send(response: ServerResponse, answer: object): void {
  const text = JSON.stringify(answer);
  response.writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function writeAll(): void {
  const group = waiting;
  waiting = [];
  begin!.run();
  const answers = group.map((one) => {
    savepoint!.run();
    const answer = write(one);
    release!.run();
    return answer;
  });
  commit!.run();
  for (const [at, { response }] of group.entries()) send(response, answers[at]!);
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { record } = JSON.parse(Buffer.concat(parts).toString()) as Pick<Waiting, 'record'>;
    if (what === 'http') return send(response, answerOf(owner, record.key, record.data, Date.now()));
    waiting.push({ record, response });
    if (waiting.length === 1) setImmediate(writeAll);
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`);
});
process.once('SIGTERM', () => process.exit());
