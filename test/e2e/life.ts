import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { ClientTransport } from '../../src/process/dns-client.ts';
import type { Person } from '../support/control/passkeys/browser.ts';
import type { Uqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';
import type { Mailbox } from './mailbox.ts';

const EMAIL = 'ada@example.net';
const PAYLOAD = 'hello';
/** Milliseconds in which counts and rows are there; the machine may be busy. */
const VISIBLE_MS = 20_000;

// biome-ignore lint/suspicious/noExplicitAny: answers are checked field by field
type Json = any;

interface Answer {
  readonly status: number;
  readonly json: Json;
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** A read, and the row of the query log that it leaves; null: none. */
interface Read {
  readonly transport: ClientTransport;
  readonly key: string;
  readonly isAnswered: boolean;
  readonly row: { readonly status: string; readonly resource: string | null; readonly rcode: string } | null;
}

const ROW = { resource: 'greeting', rcode: 'NOERROR' } as const;
const HIT = { ...ROW, status: 'hit' } as const;
const EMPTY = { resource: 'missing', rcode: 'NOERROR', status: 'miss' } as const;

/** The second read over UDP comes from the packet cache. DoH counts and is not logged. */
const READS: readonly Read[] = [
  { transport: 'udp', key: 'greeting', isAnswered: true, row: HIT },
  { transport: 'udp', key: 'greeting', isAnswered: true, row: HIT },
  { transport: 'tcp', key: 'greeting', isAnswered: true, row: HIT },
  { transport: 'dot', key: 'greeting', isAnswered: true, row: HIT },
  { transport: 'doh', key: 'greeting', isAnswered: true, row: null },
  { transport: 'udp', key: 'missing', isAnswered: false, row: EMPTY },
  { transport: 'doh', key: 'missing', isAnswered: false, row: null },
];

function caller(base: string, token: string | null): Call {
  return async (method, path, body) => {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? null : JSON.parse(text) };
  };
}

async function expect(status: number, answer: Promise<Answer>): Promise<Json> {
  const { status: found, json } = await answer;
  assert.equal(found, status, JSON.stringify(json));
  return json;
}

/**
 * One life of an account over HTTP, SMTP and DNS: sign up by code, add a passkey and sign in with it, write, read over each transport,
 * see exactly that in usage and query log, sign out everywhere.
 * @param person has an authenticator on a page of the server's origin
 */
export async function live(server: Uqrp, mailbox: Mailbox, person: Person): Promise<void> {
  const base = `http://127.0.0.1:${server.ports.http}/api/v1`;
  const nobody = caller(base, null);
  const first = caller(base, await signUp(nobody, mailbox));
  await addPasskey(first, person);
  const token = await signInWithPasskey(nobody, person);
  const me = caller(base, token);
  assert.equal((await expect(200, me('GET', '/me'))).email, EMAIL);

  const queryToken = await writeRecord(base, me);
  // An empty answer over DoH is neither counted nor logged. The token came after the record.
  const absent = `get.auth-${queryToken}.absent.shop.v1`;
  await eventually(async () => (await read(server, absent, 'doh')).rcode === 'NOERROR', VISIBLE_MS);
  await readEverywhere(server, queryToken);
  await assertSeen(me);
  await signOutEverywhere(server, base, token, { me, first, queryToken });
}

async function signUp(nobody: Call, mailbox: Mailbox): Promise<string> {
  await expect(202, nobody('POST', '/auth/sign_in', { email: EMAIL }));
  const codes = (await mailbox.next(EMAIL)).match(/(?<!\d)\d{6}(?!\d)/g);
  assert.equal(codes?.length, 1);
  const session = await expect(200, nobody('POST', '/auth/verify', { email: EMAIL, code: codes[0] }));
  assert.equal(session.user.email, EMAIL);
  return session.token;
}

async function addPasskey(call: Call, person: Person): Promise<void> {
  const options = await expect(200, call('POST', '/passkeys/options'));
  const response = await person.create(options);
  const passkey = await expect(201, call('POST', '/passkeys', { name: 'laptop', response }));
  assert.deepEqual(await expect(200, call('GET', '/passkeys')), [passkey]);
}

async function signInWithPasskey(nobody: Call, person: Person): Promise<string> {
  const options = await expect(200, nobody('POST', '/auth/passkeys/options'));
  const response = await person.get(options);
  const session = await expect(200, nobody('POST', '/auth/passkeys/verify', { response }));
  await expect(401, nobody('POST', '/auth/passkeys/verify', { response }));
  return session.token;
}

/** A namespace, and a record by an API key. @returns a query token */
async function writeRecord(base: string, me: Call): Promise<string> {
  const namespace = await expect(201, me('POST', '/namespaces', { namespace: { name: 'shop' } }));
  const scopes = { operations: ['write'], namespaces: ['shop'] };
  const key = await expect(201, me('POST', '/api_keys', { api_key: { name: 'deploy', scopes } }));
  const write = caller(base, key.token);
  const record = { key: 'greeting.shop.v1', data: Buffer.from(PAYLOAD).toString('base64') };
  await expect(201, write('POST', '/records', { record }));
  const minted = await expect(
    201,
    me('POST', `/namespaces/${namespace.id}/query_tokens`, { name: 'office' }),
  );
  return minted.token;
}

async function readEverywhere(server: Uqrp, token: string): Promise<void> {
  for (const { transport, key, isAnswered } of READS) {
    const answer = await read(server, `get.auth-${token}.${key}.shop.v1`, transport);
    assert.deepEqual(
      [answer.rcode, answer.payload],
      ['NOERROR', isAnswered ? PAYLOAD : null],
      `${key} over ${transport}`,
    );
  }
}

async function assertSeen(me: Call): Promise<void> {
  const rows = READS.filter(({ row }) => row !== null);
  await eventually(async () => (await me('GET', '/query_logs')).json.meta.total === rows.length, VISIBLE_MS);
  const { query_logs: logs } = await expect(200, me('GET', '/query_logs'));
  const shown = logs.map(
    ({ namespace, resource, version, operation, qtype, status, rcode, transport }: Json) =>
      [namespace, resource, version, operation, qtype, status, rcode, transport].join(' '),
  );
  const expected = rows.map(({ transport, row }) =>
    ['shop', row!.resource, 'v1', 'get', 'TXT', row!.status, row!.rcode, transport].join(' '),
  );
  assert.deepEqual(shown.sort(), expected.sort());
  const counted = READS.filter(({ isAnswered }) => isAnswered).length;
  await eventually(async () => (await usageOf(me)) >= counted, VISIBLE_MS);
  assert.equal(await usageOf(me), counted);
}

async function usageOf(me: Call): Promise<number> {
  const { metered } = await expect(200, me('GET', '/usage'));
  const [shop] = metered.by_namespace;
  assert.equal(metered.total_authenticated_queries, shop?.count ?? 0);
  return metered.total_authenticated_queries;
}

interface Sessions {
  readonly me: Call;
  readonly first: Call;
  readonly queryToken: string;
}

/** A stream shows a query, and ends with its session; so do all others. */
async function signOutEverywhere(
  server: Uqrp,
  base: string,
  token: string,
  sessions: Sessions,
): Promise<void> {
  const { me, first, queryToken } = sessions;
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  const asked: ClientRequest = request(`${base}/query_logs/stream`, { headers }).end();
  const [stream] = (await once(asked, 'response')) as [IncomingMessage];
  assert.equal(stream.statusCode, 200);
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const ended = once(stream, 'close');
  // A stream shows what comes after it began to follow the log.
  await eventually(async () => {
    await read(server, `get.auth-${queryToken}.greeting.shop.v1`, 'tcp');
    return /"transport":"tcp"/.test(text);
  }, VISIBLE_MS);
  await expect(204, me('DELETE', '/sessions'));
  for (const call of [me, first]) await expect(401, call('GET', '/me'));
  await ended;
}
