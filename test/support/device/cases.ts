import { readFileSync } from 'node:fs';
import {
  type Answer,
  envelopeOf,
  HEADER,
  publicKeyOf,
  queryOf,
  replyOf,
  replyWith,
  SEED,
  signedPayload,
  strings,
} from './messages.ts';

/** What the readers of device/ have to make of replies: one table for the C header, with all its compilers, and the MicroPython module. */

const KEY = 'pump-3.enabled.plant.v1';

export interface ReplyCase {
  readonly name: string;
  readonly query: Buffer;
  readonly reply: Buffer;
  readonly result: string;
  /** With OK: null for answers that are fields only. */
  readonly data?: Buffer | null;
  readonly ttlHint?: number;
  readonly dnsTtl?: number;
  /** Fields of the envelope before its data. */
  readonly fields?: string;
}

const QUERY = queryOf(KEY);
const OFF = envelopeOf(Buffer.from('off'));

function of(
  name: string,
  envelope: string | Buffer,
  result: string,
  rest: Partial<ReplyCase> = {},
): ReplyCase {
  return { name, query: QUERY, reply: replyWith(QUERY, envelope), result, ...rest };
}

function changed(name: string, result: string, change: (reply: Buffer) => unknown): ReplyCase {
  const reply = Buffer.from(replyWith(QUERY, OFF));
  const made = change(reply);
  return { name, query: QUERY, reply: Buffer.isBuffer(made) ? made : reply, result };
}

function answers(
  name: string,
  found: readonly Answer[],
  result: string,
  rest: Partial<ReplyCase> = {},
): ReplyCase {
  return { name, query: QUERY, reply: replyOf(QUERY, found), result, ...rest };
}

const fixed = (text: string): Buffer => Buffer.from(text, 'latin1');
const TABLE = fixed('v=svc1;s=ok;t=data;val=100;from=km;ts=1767225600');
const ALL_OCTETS = Buffer.from(Array.from({ length: 2586 }, (_, index) => index % 256));

/** A name that is reached over so many pointers and one more: they stand in another record. */
function chained(pointers: number, result: string): ReplyCase {
  const first = QUERY.length - 11 + 12;
  const chain = Array.from({ length: pointers }, (_, index) => [
    0xc0,
    index === 0 ? HEADER : first + 2 * (index - 1),
  ]);
  const found = [
    { type: 46, rdata: Buffer.from(chain.flat()) },
    { owner: Buffer.from([0xc0, first + 2 * (pointers - 1)]), rdata: strings(OFF) },
  ];
  return answers(`${pointers + 1} pointers`, found, result, result === 'OK' ? { data: fixed('off') } : {});
}

const VALUES: readonly ReplyCase[] = [
  of('a value', OFF, 'OK', {
    data: fixed('off'),
    ttlHint: 60,
    dnsTtl: 60,
    fields: 'v=svc1;s=ok;t=data;e=b64;f=bin;ttl=60;',
  }),
  of('no octets', envelopeOf(Buffer.alloc(0)), 'OK', { data: Buffer.alloc(0) }),
  of('no octets, plain', envelopeOf(Buffer.alloc(0), 'plain'), 'OK', { data: Buffer.alloc(0) }),
  ...[1, 2, 3, 786, 787, 2586].map((size) =>
    of(`${size} octets`, envelopeOf(ALL_OCTETS.subarray(0, size)), 'OK', {
      data: ALL_OCTETS.subarray(0, size),
    }),
  ),
  of('plain text with semicolons', envelopeOf(fixed('a;b=c;d=e'), 'plain'), 'OK', {
    data: fixed('a;b=c;d=e'),
  }),
  of('plain text of 2,586 octets', envelopeOf(Buffer.alloc(2586, 0xfc), 'plain'), 'OK', {
    data: Buffer.alloc(2586, 0xfc),
  }),
  of('fields only', TABLE, 'OK', { data: null, ttlHint: 0, fields: TABLE.toString() }),
  of('fields that are new', `v=svc1;s=ok;t=data;new=1;e=plain;f=text;d=x`, 'OK', {
    data: fixed('x'),
    ttlHint: 0,
  }),
  of('a hint of the largest size', 'v=svc1;s=ok;t=data;e=plain;ttl=2147483647;d=', 'OK', {
    ttlHint: 2147483647,
  }),
  of('a hint that is no number', 'v=svc1;s=ok;t=data;e=plain;ttl=soon;d=', 'OK', { ttlHint: 0 }),
  answers('one octet in each string', [{ rdata: strings(OFF, 1) }], 'OK', { data: fixed('off') }),
  answers(
    'an empty string between',
    [{ rdata: Buffer.concat([Buffer.from([0]), strings(OFF), Buffer.from([0])]) }],
    'OK',
    {
      data: fixed('off'),
    },
  ),
  answers('a TTL of more than 16 bits', [{ ttl: 0x01020304, rdata: strings(OFF) }], 'OK', {
    dnsTtl: 0x01020304,
  }),
  answers('the name written out', [{ owner: QUERY.subarray(HEADER, -15), rdata: strings(OFF) }], 'OK', {
    data: fixed('off'),
  }),
  answers(
    'the first label written out, the rest a pointer, in capitals',
    [
      {
        owner: Buffer.concat([Buffer.from([3]), fixed('GET'), Buffer.from([0xc0, HEADER + 4])]),
        rdata: strings(OFF),
      },
    ],
    'OK',
    { data: fixed('off') },
  ),
  answers(
    'a signature before it, records of others after it',
    [
      { type: 46, rdata: Buffer.alloc(90, 7) },
      { owner: Buffer.from([0]), rdata: strings('v=svc1;s=ok;t=data;e=plain;d=on') },
      { owner: Buffer.from([0xc0, HEADER + 4]), rdata: strings('v=svc1;s=ok;t=data;e=plain;d=on') },
      { classCode: 3, rdata: strings('v=svc1;s=ok;t=data;e=plain;d=on') },
      { rdata: strings(OFF) },
    ],
    'OK',
    { data: fixed('off') },
  ),
  chained(15, 'OK'),
  changed('the question in capitals', 'OK', (reply) => {
    for (let at = HEADER; at < QUERY.length - 16; at++) if (reply[at]! >= 97) reply[at]! -= 32;
  }),
  changed('octets behind the message', 'OK', (reply) => Buffer.concat([reply, Buffer.alloc(40, 255)])),
];

const FAULTS: readonly ReplyCase[] = [
  changed('no answer', 'EMPTY', (reply) => reply.writeUInt16BE(0, 6)),
  changed('NXDOMAIN of a resolver', 'EMPTY', (reply) => reply.writeUInt8(0x83, 3)),
  answers('another type alone', [{ type: 5, rdata: Buffer.from([0]) }], 'EMPTY'),
  answers(
    'the record of another name alone',
    [{ owner: Buffer.from([1, 97, 0]), rdata: strings(OFF) }],
    'EMPTY',
  ),
  changed('REFUSED', 'REFUSED', (reply) => reply.writeUInt8(0x85, 3)),
  ...[1, 2, 4, 9].map((code) =>
    changed(`rcode ${code}`, 'FAILED', (reply) => reply.writeUInt8(0x80 | code, 3)),
  ),
  of('an error envelope', 'v=svc1;s=notfound;t=error;code=E004;msg=not found', 'SERVICE'),
  of('an error with data', 'v=svc1;s=ok;t=error;e=plain;d=on', 'SERVICE'),
  of('no status', 'v=svc1;t=data;e=plain;d=on', 'SERVICE'),
  of('a status that begins with ok', 'v=svc1;s=oka;t=data;e=plain;d=on', 'SERVICE'),
  of('a later version', 'v=svc2;s=ok;t=data;e=plain;d=on', 'FORMAT'),
  of('no envelope', 'v=spf1 -all', 'FORMAT'),
  of('another text', 'hello', 'FORMAT'),
  of('an envelope that begins with another field', 's=ok;v=svc1;t=data;e=plain;d=on', 'FORMAT'),
  of('no text', '', 'FORMAT'),
  of('a field without a name', 'v=svc1;s=ok;=x;e=plain;d=on', 'FORMAT'),
  of('two semicolons', 'v=svc1;;s=ok;t=data;e=plain;d=on', 'FORMAT'),
  of('an encoding that is planned', 'v=svc1;s=ok;t=data;e=aes;d=b2Zm', 'FORMAT'),
  of('no encoding', 'v=svc1;s=ok;t=data;d=b2Zm', 'FORMAT'),
  ...[
    'b2Z',
    'b2Zm=',
    'b2=m',
    'b2Z=',
    'b3==',
    'b2Zm\n',
    'b2 m',
    '====',
    '=',
    'b2-_',
    'b2Zm====',
    'bzz\u00e9',
  ].map((text) => of(`Base64 ${JSON.stringify(text)}`, `v=svc1;s=ok;t=data;e=b64;d=${text}`, 'FORMAT')),
  changed('an id of another query', 'OTHER', (reply) => reply.writeUInt8(0x35, 1)),
  changed('a query, not a reply', 'OTHER', (reply) => reply.writeUInt8(0x05, 2)),
  changed('another operation', 'OTHER', (reply) => reply.writeUInt8(0xa5, 2)),
  changed('two questions', 'OTHER', (reply) => reply.writeUInt16BE(2, 4)),
  changed('no question', 'OTHER', (reply) => reply.writeUInt16BE(0, 4)),
  ...[13, 20, 30, QUERY.length - 14, QUERY.length - 12].map((at) =>
    changed(`another octet ${at} of the question`, 'OTHER', (reply) => reply.writeUInt8(reply[at]! ^ 1, at)),
  ),
  changed('the header alone', 'OTHER', (reply) => reply.subarray(0, HEADER)),
  changed('nothing', 'OTHER', () => Buffer.alloc(0)),
  changed('TC', 'TRUNCATED', (reply) => reply.writeUInt8(0x87, 2)),
  changed('TC without an answer', 'TRUNCATED', (reply) => {
    reply.writeUInt8(0x87, 2);
    reply.writeUInt16BE(0, 6);
    return reply.subarray(0, QUERY.length - 11);
  }),
  changed('more answers than there are', 'OK', (reply) => reply.writeUInt16BE(9, 6)),
  ...[1, 5, 11, 12, 20].map((left) =>
    changed(`cut ${left} octets after the question`, 'REPLY', (reply) =>
      reply.subarray(0, QUERY.length - 11 + left),
    ),
  ),
  changed('a record longer than the message', 'REPLY', (reply) => reply.subarray(0, -1)),
  answers('a string longer than its record', [{ rdata: Buffer.from([5, 118, 61]) }], 'REPLY'),
  answers(
    'a name that points at itself',
    [{ owner: Buffer.from([0xc0, QUERY.length - 11]), rdata: strings(OFF) }],
    'REPLY',
  ),
  answers(
    'a name that points behind the message',
    [{ owner: Buffer.from([0xff, 0xff]), rdata: strings(OFF) }],
    'REPLY',
  ),
  chained(16, 'REPLY'),
  answers(
    'a label of 64 octets',
    [{ owner: Buffer.alloc(66, 64).fill(0, 65), rdata: strings(OFF) }],
    'REPLY',
  ),
  answers('a label of an unknown kind', [{ owner: Buffer.from([0x80, 0]), rdata: strings(OFF) }], 'REPLY'),
];

export const REPLIES: readonly ReplyCase[] = [...VALUES, ...FAULTS];

export interface QueryCase {
  readonly key: string;
  readonly token: string;
  readonly zone: string;
  readonly size: number;
  /** Null: no such name is possible. */
  readonly query: Buffer | null;
}

const LABEL = 'x'.repeat(63);
/** With `get.` before and `.uqrp.net` behind, the name has 253 characters, the maximum. */
const LONGEST = [LABEL, LABEL, LABEL, 'x'.repeat(253 - 3 * 64 - 'get..uqrp.net'.length)].join('.');

function queryCase(key: string, token = '', zone = 'uqrp.net', size = 1232, possible = true): QueryCase {
  return { key, token, zone, size, query: possible ? queryOf(key, { token, zone, size }) : null };
}

export const QUERIES: readonly QueryCase[] = [
  queryCase(KEY),
  queryCase(KEY, `svcq${'0a'.repeat(26)}`),
  queryCase(KEY, '', 'example.org', 512),
  queryCase(KEY, '', 'net', 0),
  queryCase('API-Key.Env.Shop.V1', '', 'UQRP.net', 4096),
  queryCase(`${LABEL}.plant.v1`),
  queryCase(LONGEST),
  queryCase(`${LONGEST}x`, '', 'uqrp.net', 1232, false),
  queryCase(`x${LABEL}.plant.v1`, '', 'uqrp.net', 1232, false),
  queryCase(KEY, 'x'.repeat(59), 'uqrp.net', 1232, false),
  ...['', '.', 'a..b', '.a', 'a.'].map((key) => queryCase(key, '', 'uqrp.net', 1232, false)),
  ...['', 'net.', 'a..net'].map((zone) => queryCase(KEY, '', zone, 1232, false)),
];

export interface SignedCase {
  readonly name: string;
  readonly key: string;
  readonly keys: readonly Buffer[];
  /** Six octets: the time of the newest record seen. */
  readonly latest: Buffer;
  readonly data: Buffer;
  readonly result: string;
  /** With OK: what was signed, and its time. */
  readonly payload?: Buffer;
  readonly after?: Buffer;
}

const SIGNED_KEY = 'pump.status.acme.v1';
const AT = 1767225600000;
const OTHER_SEED = Buffer.alloc(32, 9);
const SIGNED = signedPayload(SIGNED_KEY, AT, fixed('off'));

function timeOf(milliseconds: number): Buffer {
  const time = Buffer.alloc(6);
  time.writeUIntBE(milliseconds, 0, 6);
  return time;
}

function signedCase(name: string, result: string, own: Partial<SignedCase> = {}): SignedCase {
  const value = result === 'OK' ? { payload: fixed('off'), after: timeOf(AT) } : {};
  const standard = { key: SIGNED_KEY, keys: [publicKeyOf(SEED)], latest: timeOf(0), data: SIGNED };
  return { name, result, ...standard, ...value, ...own };
}

function flipped(at: number): Buffer {
  const data = Buffer.from(SIGNED);
  data[at]! ^= 1;
  return data;
}

interface Vector {
  readonly name: string;
  readonly key_ids: readonly string[];
  readonly record_key: string;
  readonly value: string;
  /** With a good signature: what was signed, and when. */
  readonly payload?: string;
  readonly time?: number;
}

interface Vectors {
  readonly keys: readonly { readonly id: string; readonly public_key: string }[];
  readonly sign: readonly (Vector & { readonly key_id: string })[];
  readonly verify: readonly Vector[];
  readonly sequences: readonly (Vector & { readonly steps: readonly { value: string; result: string }[] })[];
}

/** The published vectors of signed values. */
function vectors(): readonly SignedCase[] {
  const text = readFileSync(new URL('../../../docs/vectors/signatures.json', import.meta.url), 'utf8');
  const { keys, sign, verify, sequences } = JSON.parse(text) as Vectors;
  const pinned = (ids: readonly string[]): readonly Buffer[] =>
    ids.map((id) => Buffer.from(keys.find((each) => each.id === id)!.public_key, 'hex'));
  const caseOf = ({ name, key_ids, record_key, value, payload, time }: Vector): SignedCase => {
    const data = Buffer.from(value, 'hex');
    const faulty = data[0] === 3 && data.length >= 79 ? 'FORGED' : 'UNSIGNED';
    return signedCase(`vector: ${name}`, payload === undefined ? faulty : 'OK', {
      key: record_key,
      keys: pinned(key_ids),
      data,
      ...(payload === undefined ? {} : { payload: Buffer.from(payload, 'hex'), after: timeOf(time!) }),
    });
  };
  const steps = sequences.flatMap(({ name, key_ids, record_key, steps: all }) => {
    let latest = timeOf(0);
    return all.map(({ value, result }): SignedCase => {
      const data = Buffer.from(value, 'hex');
      const before = latest;
      if (result === 'ok') latest = data.subarray(9, 15);
      const own = { key: record_key, keys: pinned(key_ids), data, latest: before };
      const good = { payload: data.subarray(79), after: latest };
      return signedCase(
        `vector: ${name}`,
        result === 'ok' ? 'OK' : 'OLDER',
        result === 'ok' ? { ...own, ...good } : own,
      );
    });
  });
  return [...sign.map((one) => caseOf({ ...one, key_ids: [one.key_id] })), ...verify.map(caseOf), ...steps];
}

export const SIGNED_RECORDS: readonly SignedCase[] = [
  signedCase('the vector', 'OK'),
  signedCase('the key in capitals', 'OK', { key: 'PUMP.Status.acme.V1' }),
  signedCase('the second of two keys', 'OK', { keys: [publicKeyOf(OTHER_SEED), publicKeyOf(SEED)] }),
  signedCase('the same record again', 'OK', { latest: timeOf(AT) }),
  signedCase('no octets', 'OK', { data: signedPayload(SIGNED_KEY, AT, fixed('')), payload: fixed('') }),
  signedCase('2,507 octets', 'OK', {
    data: signedPayload(SIGNED_KEY, AT, ALL_OCTETS.subarray(0, 2507)),
    payload: ALL_OCTETS.subarray(0, 2507),
  }),
  signedCase('a key of 178 characters', 'OK', {
    key: `${'y'.repeat(50)}.${'x'.repeat(50)}.${'y'.repeat(50)}.xxxxxxxxxxx.plant.v11`,
    data: signedPayload(
      `${'y'.repeat(50)}.${'x'.repeat(50)}.${'y'.repeat(50)}.xxxxxxxxxxx.plant.v11`,
      AT,
      fixed('off'),
    ),
  }),
  signedCase('a record of a millisecond before', 'OLDER', { latest: timeOf(AT + 1) }),
  signedCase('a record of 24 days before', 'OLDER', { latest: timeOf(AT + 2 ** 31) }),
  signedCase('the record of another pump', 'FORGED', { key: 'pump-2.status.acme.v1' }),
  signedCase('another signer', 'FORGED', { keys: [publicKeyOf(OTHER_SEED)] }),
  signedCase('no pinned key', 'FORGED', { keys: [] }),
  ...Array.from(SIGNED.subarray(1), (_, index) => index + 1).map((at) =>
    signedCase(`another octet ${at}`, 'FORGED', { data: flipped(at) }),
  ),
  signedCase('an octet more', 'FORGED', { data: Buffer.concat([SIGNED, fixed(' ')]) }),
  signedCase('an octet less', 'FORGED', { data: SIGNED.subarray(0, -1) }),
  signedCase('another form', 'UNSIGNED', { data: flipped(0) }),
  signedCase('the head without its last octet', 'UNSIGNED', { data: SIGNED.subarray(0, 78) }),
  signedCase('a value without a signature', 'UNSIGNED', { data: fixed('off') }),
  signedCase('no value', 'UNSIGNED', { data: fixed('') }),
  ...vectors(),
];
