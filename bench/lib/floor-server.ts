/**
 * What `POST /records` and `POST /records/bulk` cost at least on Node and SQLite: a program that takes the body with `node:http`, parses it, writes the
 * rows that the product writes, with its statements, in groups with one commit, and answers. It checks nothing: no token, no shape, no limit, no view,
 * no change to tell.
 *
 *   node bench/lib/floor-server.ts DIR [http]     DIR: data of a server that has stopped; `http`: without any row
 *
 * Prints its port.
 */
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { timeOrderedUuids } from '../../src/base/ids.ts';

interface Given {
  readonly key: string;
  readonly data: string;
}

interface Waiting {
  readonly record: Given;
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
const takeSeqs = database.prepare('update feed_head set seq = seq + ? where id = 1 returning seq');
/** Changes of a block of the log are 16. */
const BLOCK_BITS = 4;
const insertBlock = database.prepare(
  'insert into feed_blocks (owner, block) values (?, ?) on conflict do nothing',
);
const insertAudit = database.prepare(
  `insert into audit_log (customer_id, at, id, request_id, actor_kind, actor_id, actor_name, action, outcome, object_kind, object_id,
   object_name, namespace, count, tag_before, tag_after, seq)
   values (?, ?, ?, ?, 'session', ?, 'test@example.net', 'record.created', 'done', 'record', ?, ?, 'bench', null, null, 1, ?)`,
);

/** Rows of one statement; 500 are a whole number of them. The product has 64. */
const ROWS = 50;
const severalRecords = inserts(
  'records (id, namespace_id, key, resource, version, data, content_type, ttl_seconds, created_at, updated_at, revision)',
  11,
);
const severalChanges = inserts('change_log (seq, at, owner, cause, type, namespace, key, body, data)', 9);

/** Inserts rows of so many values, `ROWS` by a statement. */
function inserts(into: string, values: number) {
  const row = `(${new Array(values).fill('?').join(', ')})`;
  const many = database.prepare(`insert into ${into} values ${new Array(ROWS).fill(row).join(', ')}`);
  return (rows: readonly (readonly SQLInputValue[])[]): void => {
    for (let at = 0; at < rows.length; at += ROWS) many.run(...rows.slice(at, at + ROWS).flat());
  };
}

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
  insertBlock.run(owner, seq >> BLOCK_BITS);
  insertAudit.run(owner, now, newId(), id, owner, id, key, seq);
  return answerOf(id, key, data, now);
}

/** One unit: all records, all changes, one row of the audit log. @returns the answer */
function writeBulk(records: readonly Given[]): object {
  const now = Date.now();
  const made = records.map(({ key, data }) => ({ id: newId(), key, value: Buffer.from(data, 'base64') }));
  begin!.run();
  countOfCustomer.all(owner);
  countOfNamespace.all(namespace);
  severalRecords(
    made.map(({ id, key, value }) => [
      id,
      namespace,
      key,
      key.split('.')[0]!,
      'v1',
      value,
      'text/plain',
      300,
      now,
      now,
      1,
    ]),
  );
  const { seq: last } = takeSeqs.get(made.length) as { seq: number };
  const first = last - made.length + 1;
  severalChanges(
    made.map(({ id, key, value }, i) => [
      first + i,
      now,
      owner,
      'direct',
      'record.upserted',
      'bench',
      key,
      `{"id":"${id}","v":"v1","type":"text/plain"}`,
      value,
    ]),
  );
  for (let block = first >> BLOCK_BITS; block <= last >> BLOCK_BITS; block++) insertBlock.run(owner, block);
  insertAudit.run(owner, now, newId(), made[0]!.id, owner, made[0]!.id, made[0]!.key, last);
  commit!.run();
  return { records: made.map(({ id, key }) => ({ id, key })), deleted: [] };
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
    const body = JSON.parse(Buffer.concat(parts).toString()) as { record: Given } | { records: Given[] };
    if ('records' in body) {
      const bare = (): object => ({
        records: body.records.map(({ key }) => ({ id: owner, key })),
        deleted: [],
      });
      return send(response, what === 'http' ? bare() : writeBulk(body.records));
    }
    const { record } = body;
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
