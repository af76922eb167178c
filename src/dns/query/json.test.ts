import assert from 'node:assert/strict';
import { test } from 'node:test';
import packet from 'dns-packet';
import fc from 'fast-check';
import { txtRdata } from '../../../test/support/protocol/dns/rdata.ts';
import { CLASS, EDE, RRTYPE } from '../../protocol/dns/codes.ts';
import { edeOption } from '../../protocol/dns/message/edns.ts';
import { decodeMessage, encodeMessage, type Message } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { soaRdata } from '../../protocol/dns/rdata/rdata.ts';
import { type JsonDocument, type JsonQuestion, jsonAnswer, jsonApi, jsonQuery } from './json.ts';

function ask(search: string): JsonQuestion {
  const question = jsonQuery(new URLSearchParams(search));
  assert.ok(!('error' in question), `${search}: ${JSON.stringify(question)}`);
  return question;
}

function refusal(search: string): string | null {
  const question = jsonQuery(new URLSearchParams(search));
  return 'error' in question ? question.error : null;
}

const decode = (octets: Uint8Array) => packet.decode(Buffer.from(octets));

const NAME = 'Parameter name is not a domain name of 1 to 253 characters';
const TYPE = 'Parameter type is not a DNS type';

test('parameters become a query', () => {
  const plain = decode(ask('name=get.a.b.v1.Example.net').request);
  assert.deepEqual(plain.questions, [{ name: 'get.a.b.v1.Example.net', type: 'A', class: 'IN' }]);
  assert.deepEqual([plain.id, plain.type, plain.flag_rd, plain.flag_cd], [0, 'query', true, false]);
  assert.equal(plain.additionals.length, 1);
  assert.equal(plain.additionals[0]!.flag_do, false);
  const full = decode(ask('name=a.net.&type=txt&cd=1&do=TRUE&rd=0').request);
  assert.deepEqual(full.questions, [{ name: 'a.net', type: 'TXT', class: 'IN' }]);
  assert.deepEqual([full.flag_rd, full.flag_cd, full.additionals[0]!.flag_do], [false, true, true]);
});

test('a name in another script is told how to be written (L11 of the audit)', () => {
  const hint = 'Parameter name has characters outside ASCII: write them as hex- or b32- of their UTF-8 text';
  assert.equal(refusal(`name=get.${encodeURIComponent('münchen')}.time.public.v1.uqrp.net&type=TXT`), hint);
  assert.equal(refusal('name=a%00b'), NAME);
});

test('types by mnemonic, TYPEn and number', () => {
  const cases: [type: string, number: number | null][] = [
    ['TXT', 16],
    ['txt', 16],
    ['16', 16],
    ['TYPE16', 16],
    ['type666', 666],
    ['1', 1],
    ['65535', 65_535],
    ['AAAA', 28],
    ['ANY', 255],
    ['0', null],
    ['65536', null],
    ['-1', null],
    ['1.5', null],
    ['', null],
    ['TXTT', null],
    ['TYPE', null],
  ];
  for (const [type, number] of cases) {
    const search = `name=a.net&type=${type}`;
    if (number === null) assert.equal(refusal(search), TYPE, type);
    else assert.equal(decodeMessage(ask(search).request)?.question[0]?.qtype, number, type);
  }
});

test('flags', () => {
  const cases: [text: string, value: boolean | null][] = [
    ['cd', true],
    ['cd=', true],
    ['cd=1', true],
    ['cd=true', true],
    ['cd=True', true],
    ['cd=0', false],
    ['cd=FALSE', false],
    ['', false],
    ['cd=2', null],
    ['cd=yes', null],
    ['cd=+1', null],
  ];
  for (const [text, value] of cases) {
    if (value === null) assert.equal(refusal(`name=a&${text}`), 'Parameter cd is not a boolean', text);
    else assert.equal(decodeMessage(ask(`name=a&${text}`).request)?.cd, value, text);
  }
  assert.equal(refusal('name=a&do=x'), 'Parameter do is not a boolean');
  assert.equal(refusal('name=a&rd=x'), 'Parameter rd is not a boolean');
});

test('names, on both sides of each limit', () => {
  const label = 'a'.repeat(63);
  const longest = `${label}.${label}.${label}.${'a'.repeat(61)}`;
  assert.equal(longest.length, 253);
  for (const name of [longest, `${longest}.`, 'a', 'a.', label, '_x.a', 'a%5C.b.net', 'a%5C032b', 'a%5C.']) {
    assert.equal(refusal(`name=${name}`), null, name);
  }
  const bad = [
    `${longest}a`,
    `${label}a`,
    '',
    '.',
    '..',
    'a..b',
    '.a',
    'a..',
    'a b',
    'a%00b',
    'a%5C',
    'a%5C256',
  ];
  for (const name of bad) assert.equal(refusal(`name=${encodeURI(decodeURIComponent(name))}`), NAME, name);
  assert.equal(refusal('type=TXT'), 'Parameter name is missing');
});

test('of a repeated parameter the first counts; the ignored ones are ignored', () => {
  const question = ask(
    'name=a.net&name=b.net&type=TXT&type=x&do=0&do=1&random_padding=xxx&other=1&cd=0&cd=x',
  );
  assert.deepEqual(decode(question.request).questions, [{ name: 'a.net', type: 'TXT', class: 'IN' }]);
  assert.deepEqual([question.wire, question.ecs], [false, null]);
  assert.equal(ask('name=a&ct=application/dns-message').wire, true);
  assert.equal(ask('name=a&ct=application/json').wire, false);
});

const qname = nameFromText('get.Demo\\.x.net')!;
const zone = nameFromText('net')!;
const soa = soaRdata({ mname: zone, rname: zone, serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 60 });

function reply(parts: Partial<Message>): Uint8Array {
  return encodeMessage({
    id: 0,
    qr: true,
    opcode: 0,
    aa: true,
    tc: false,
    rd: true,
    ra: false,
    ad: false,
    cd: false,
    rcode: 0,
    question: [{ qname, qtype: RRTYPE.TXT, qclass: CLASS.IN }],
    answer: [],
    authority: [],
    additional: [],
    edns: { payload: 1232, version: 0, dnssecOk: false, options: [] },
    ...parts,
  });
}

function document(search: string, parts: Partial<Message>): JsonDocument {
  return jsonAnswer(ask(search), reply(parts))!;
}

test('an answer', () => {
  const value = `v=svc1;d="${'x'.repeat(245)}"\\é`;
  const answer = [{ owner: qname, type: RRTYPE.TXT, class: CLASS.IN, ttl: 60, rdata: txtRdata(value) }];
  const first = value.slice(0, 255).replaceAll('"', '\\"');
  assert.deepEqual(document('name=a', { answer }), {
    Status: 0,
    TC: false,
    RD: true,
    RA: false,
    AD: false,
    CD: false,
    Question: [{ name: 'get.Demo\\.x.net.', type: 16 }],
    Answer: [{ name: 'get.Demo\\.x.net.', type: 16, TTL: 60, data: `"${first}" ${'"\\"\\\\\\195\\169"'}` }],
  });
});

test('no data: an empty answer, and the SOA', () => {
  const authority = [{ owner: zone, type: RRTYPE.SOA, class: CLASS.IN, ttl: 60, rdata: soa }];
  const { Answer, Authority } = document('name=a', { authority });
  assert.deepEqual(Answer, []);
  assert.deepEqual(Authority, [{ name: 'net.', type: 6, TTL: 60, data: 'net. net. 1 2 3 4 60' }]);
});

test('flags, rcode, subnet and extended errors are passed on', () => {
  const options = [edeOption(EDE.NOT_AUTHORITATIVE, 'no zone here'), edeOption(EDE.STALE_ANSWER, '')];
  const edns = { payload: 1232, version: 0, dnssecOk: false, options };
  const parts = { rcode: 16, tc: true, rd: false, cd: true, edns };
  assert.deepEqual(document('name=a&edns_client_subnet=192.0.2.0/24', parts), {
    Status: 16,
    TC: true,
    RD: false,
    RA: false,
    AD: false,
    CD: true,
    Question: [{ name: 'get.Demo\\.x.net.', type: 16 }],
    Answer: [],
    edns_client_subnet: '192.0.2.0/24',
    Comment: 'EDE(20): Not Authoritative: no zone here; EDE(3): Stale Answer',
  });
});

test('octets that are no message give null; anything asked is a query that can be read', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (octets) => {
      const made = jsonAnswer(ask('name=a'), octets);
      assert.equal(made === null, decodeMessage(octets) === null);
    }),
  );
  fc.assert(
    fc.property(fc.string({ maxLength: 300 }), fc.string({ maxLength: 10 }), (name, type) => {
      const question = jsonQuery(new URLSearchParams({ name, type }));
      if (!('error' in question)) assert.notEqual(decodeMessage(question.request), null);
    }),
  );
});

test('the API: a wrong parameter asks nothing; an answer becomes a document, or stays a message; no message is unreadable', async () => {
  const message = reply({});
  const api = (search: string, answer: Uint8Array | null | Promise<Uint8Array | null>) => {
    let asked = 0;
    const result = jsonApi(new URLSearchParams(search), () => {
      asked++;
      return answer;
    });
    return { result, asked: () => asked };
  };
  const refused = api('type=TXT', message);
  assert.deepEqual(refused.result, { kind: 'refused', error: 'Parameter name is missing' });
  assert.equal(refused.asked(), 0);
  const made = jsonAnswer(ask('name=a'), message);
  assert.deepEqual(api('name=a', message).result, { kind: 'document', document: made, reply: message });
  assert.deepEqual(await api('name=a', Promise.resolve(message)).result, {
    kind: 'document',
    document: made,
    reply: message,
  });
  const asMessage = 'name=a&ct=application/dns-message';
  assert.deepEqual(api(asMessage, message).result, { kind: 'message', reply: message });
  assert.deepEqual(api(asMessage, null).result, { kind: 'message', reply: null });
  assert.deepEqual(api('name=a', null).result, { kind: 'unreadable' });
  assert.deepEqual(api('name=a', new Uint8Array(3)).result, { kind: 'unreadable' });
});
