import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { dsLines, generateKeySet } from '../../../../src/dns/dnssec/key-set.ts';
import { parseRrtype as typeOf } from '../../../../src/protocol/dns/codes.ts';
import { type SignedZone, signedZone } from '../../../../test/support/sdk/signed-zone.ts';
import { nameFromText } from '../message/cursor.ts';
import { type DnsMessage, decodeMessage } from '../message/message.ts';
import { rdataOf } from '../message/record.ts';
import {
  type AnswerCheck,
  type AnswerFault,
  checkAnswer,
  checkKeys,
  denialOf,
  type KeysCheck,
} from './check-answer.ts';
import { readDs } from './zone-keys.ts';

const APEX = 'uqrp.net';
const ZONE = nameFromText(APEX);
const GREETING = `get.greeting.open.v1.${APEX}`;
const DAY_MS = 86_400_000;

/** Questions whose answers are signed. */
const SIGNED: readonly (readonly [name: string, type: string])[] = [
  [GREETING, 'TXT'],
  [APEX, 'DNSKEY'],
  [APEX, 'SOA'],
  [APEX, 'NS'],
  [APEX, 'CDS'],
  [`ns1.${APEX}`, 'A'],
  [`get.absent.open.v1.${APEX}`, 'TXT'],
  [GREETING, 'A'],
  [`open.v1.${APEX}`, 'TXT'],
  [APEX, 'TXT'],
];

let zone: SignedZone;
let keys: KeysCheck;
before(async () => {
  zone = await signedZone();
  keys = await keysOf(zone);
});

function keysOf(of: SignedZone, ds?: ReturnType<typeof readDs>): Promise<KeysCheck> {
  const message = decodeMessage(of.ask(APEX, typeOf('DNSKEY') ?? 0));
  return checkKeys(message, ZONE, { now: of.clock.now, isDirect: true, ...(ds === undefined ? {} : { ds }) });
}

function asked(name: string, type: string): { readonly octets: Uint8Array; readonly query: DnsMessage } {
  const code = typeOf(type) ?? 0;
  return { octets: zone.ask(name, code), query: decodeMessage(zone.query(name, code)) };
}

function check(octets: Uint8Array, query: DnsMessage, now = zone.clock.now): Promise<AnswerCheck> {
  return checkAnswer(decodeMessage(octets), keys, { now, query, isDirect: true });
}

describe('the keys of a zone', () => {
  it('are signed by an entry point, whose DS is the one of the command line', async () => {
    assert.equal(keys.result, 'valid');
    assert.deepEqual(keys.faults, []);
    assert.equal(keys.keys.length, 2);
    assert.deepEqual(
      keys.ds.map(({ text }) => text),
      dsLines(zone.keys),
    );
    assert.equal(keys.isAnchored, null);
  });

  it('are those of the parent when its DS names them, and of nobody when it does not', async () => {
    const good = await keysOf(zone, readDs(dsLines(zone.keys).join('\n')));
    assert.deepEqual([good.result, good.isAnchored, good.keys.length], ['valid', true, 2]);
    const other = await keysOf(zone, readDs(dsLines(generateKeySet(APEX, 0)).join('\n')));
    assert.deepEqual([other.result, other.isAnchored, other.keys.length], ['not_valid', false, 0]);
    assert.equal((await keysOf(zone, [])).result, 'not_valid');
  });

  it('DS records are read as dig and master files print them', () => {
    const wanted = [{ tag: 1, algorithm: 13, digestType: 2, digest: 'AB01' }];
    assert.deepEqual(readDs('1 13 2 ab 01'), wanted);
    assert.deepEqual(readDs('; a comment\nuqrp.net. 3600 IN DS 1 13 2 AB01\n'), wanted);
    assert.deepEqual(readDs('uqrp.net. IN DS one 13 2 AB01\n\n1 13 2'), []);
  });
});

describe('signed answers', () => {
  for (const [name, type] of SIGNED) {
    it(`${type} at ${name} is valid by both algorithms`, async () => {
      const { octets, query } = asked(name, type);
      const { result, signatures, faults } = await check(octets, query);
      assert.deepEqual([result, faults], ['valid', []]);
      assert.deepEqual(
        new Set(signatures.map(({ rrsig }) => rrsig.algorithm)),
        new Set(type === 'DNSKEY' || type === 'CDS' ? algorithmsOf(signatures) : [13, 15]),
      );
    });
  }

  it('the case of the letters of a question does not matter to signatures', async () => {
    const { octets, query } = asked('GeT.GREETing.open.V1.uQRP.nEt', 'TXT');
    assert.equal((await check(octets, query)).result, 'valid');
    assert.deepEqual((await check(octets, asked(GREETING, 'TXT').query)).faults, ['wrong_question']);
  });

  it('are valid in their time only', async () => {
    const { octets, query } = asked(GREETING, 'TXT');
    const late = await check(octets, query, zone.clock.now + 60 * DAY_MS);
    assert.ok(late.signatures.length > 0 && late.signatures.every(({ reason }) => reason === 'expired'));
    const early = await check(octets, query, zone.clock.now - 60 * DAY_MS);
    assert.ok(early.signatures.every(({ reason }) => reason === 'not_yet_valid'));
    assert.deepEqual([late.result, early.result], ['not_valid', 'not_valid']);
  });

  it('of another zone with the same name are not valid', async () => {
    const other = await signedZone();
    const reply = other.ask(GREETING, 16);
    const { result, signatures } = await check(reply, decodeMessage(other.query(GREETING, 16)));
    assert.equal(result, 'not_valid');
    assert.ok(signatures.every(({ isValid }) => !isValid));
    const elsewhere = { zone: nameFromText('v1.uqrp.net'), keys: keys.keys };
    const strange = await checkAnswer(decodeMessage(zone.ask(GREETING, 16)), elsewhere, {
      now: zone.clock.now,
    });
    assert.ok(strange.signatures.every(({ reason }) => reason === 'wrong_signer'));
  });

  it('a refusal has no signatures, and neither has a zone without keys', async () => {
    const { octets, query } = asked(`get.a.closed.v1.${APEX}`, 'TXT');
    assert.equal((await check(octets, query)).result, 'unsigned');
    const plain = { ...decodeMessage(asked(GREETING, 'TXT').octets) };
    const without = { ...plain, records: plain.records.filter(({ type }) => type !== typeOf('RRSIG')) };
    assert.equal((await checkAnswer(without, { zone: ZONE, keys: [] }, {})).result, 'unsigned');
    const stripped = await checkAnswer(without, keys, { now: zone.clock.now });
    assert.deepEqual([stripped.result, stripped.faults], ['not_valid', ['unsigned_records']]);
  });

  it('an empty answer without a proof is not valid', async () => {
    const { octets } = asked(`get.absent.open.v1.${APEX}`, 'TXT');
    const message = decodeMessage(octets);
    const isNsec = (record: DnsMessage['records'][number]): boolean =>
      rdataOf(record, 'NSEC') !== null || rdataOf(record, 'RRSIG')?.covered === typeOf('NSEC');
    const without = { ...message, records: message.records.filter((record) => !isNsec(record)) };
    const { result, faults } = await checkAnswer(without, keys, { now: zone.clock.now });
    assert.deepEqual([result, faults], ['not_valid', ['no_proof']]);
  });
});

describe('denials', () => {
  const kindAt = (name: string, type: string) => denialOf(decodeMessage(asked(name, type).octets));
  it('say what the bitmap proves', () => {
    const absent = kindAt(`get.absent.open.v1.${APEX}`, 'TXT');
    assert.equal(absent?.kind, 'absent');
    assert.deepEqual(absent?.types, [46, 47, 128]);
    assert.equal(absent?.next.text, `\\000.get.absent.open.v1.${APEX}`);
    assert.equal(kindAt(GREETING, 'A')?.kind, 'other_types');
    assert.equal(kindAt(`open.v1.${APEX}`, 'TXT')?.kind, 'between');
    assert.equal(kindAt(GREETING, 'TXT'), null);
    assert.equal(denialOf({ ...decodeMessage(asked(GREETING, 'A').octets), questions: [] }), null);
    const contradicting = decodeMessage(asked(GREETING, 'A').octets);
    const question = { ...contradicting.questions[0], type: 16 } as DnsMessage['questions'][number];
    assert.equal(denialOf({ ...contradicting, questions: [question] })?.kind, 'contradiction');
  });
});

/** Each has another kind of rdata: a text, keys, and the proof that there is nothing. */
const CHANGED = [SIGNED[0], SIGNED[1], SIGNED[6]].flatMap((one) => (one === undefined ? [] : [one]));

describe('an answer with one changed octet', () => {
  for (const [name, type] of CHANGED) {
    it(`${type} at ${name} is not valid, whichever octet it is`, async () => {
      const { octets, query } = asked(name, type);
      const changes = Array.from(octets, (_, at) => spanOfUnnoticed(octets, at, 1 << (at % 8), query));
      assert.deepEqual(
        (await Promise.all(changes)).filter((one) => one !== null),
        [],
      );
    });
  }

  it('letters of owners in another case are the same answer', async () => {
    const { octets, query } = asked(APEX, 'SOA');
    const cases = Array.from(octets, (_, at) => spanOfUnnoticed(octets, at, 0x20, query));
    assert.deepEqual(
      (await Promise.all(cases)).filter((one) => one !== null),
      [],
    );
  });
});

/** Fields that no signature covers and nothing else decides: what the server says of itself. */
const UNSIGNED_FIELDS = new Set(['udpSize', 'ednsVersion', 'ednsFlags', 'optionCode', 'optionData']);

/**
 * Null when the change is noticed, or changes nothing that is signed: the case of letters, a pointer to an equal name,
 * or a field of EDNS.
 */
async function spanOfUnnoticed(
  octets: Uint8Array,
  at: number,
  mask: number,
  query: DnsMessage,
): Promise<string | null> {
  const changed = Uint8Array.from(octets);
  changed[at] = (changed[at] ?? 0) ^ mask;
  let message: DnsMessage;
  try {
    message = decodeMessage(changed);
  } catch {
    return null;
  }
  const { result } = await checkAnswer(message, keys, { now: zone.clock.now, query, isDirect: true });
  if (result === 'not_valid') return null;
  if (meaningOf(message) === meaningOf(decodeMessage(octets))) {
    const span = decodeMessage(octets).spans.find(({ from, to }) => from <= at && at < to);
    const isName = ['owner', 'signer', 'mname', 'rname', 'target'].includes(span?.field ?? '');
    if (isName || UNSIGNED_FIELDS.has(span?.field ?? '')) return null;
  }
  return `octet ${at} mask ${mask}: ${result}`;
}

/** Everything of a message that a reader uses. */
function meaningOf(message: DnsMessage): string {
  const records = message.records.map(({ section, owner, type, class: klass, ttl, canonical }) =>
    [section, owner.text.toLowerCase(), type, klass, ttl, Buffer.from(canonical).toString('hex')].join(),
  );
  const { rcode, flags, questions } = message;
  return JSON.stringify([rcode, flags, questions.map(({ name, type }) => [name.text, type]), records]);
}

function algorithmsOf(signatures: AnswerCheck['signatures']): readonly number[] {
  return signatures.map(({ rrsig }) => rrsig.algorithm);
}

describe('replies that do not belong to the question', () => {
  const flags: readonly (readonly [at: number, mask: number, fault: AnswerFault])[] = [
    [1, 1, 'wrong_id'],
    [2, 0x80, 'not_a_reply'],
    [2, 0x08, 'not_a_reply'],
    [2, 0x04, 'wrong_flags'],
    [2, 0x02, 'cut_off'],
    [2, 0x01, 'wrong_flags'],
    [3, 0x80, 'wrong_flags'],
    [3, 0x40, 'wrong_flags'],
    [3, 0x20, 'wrong_flags'],
    [3, 0x10, 'wrong_flags'],
    [3, 0x02, 'error_with_records'],
  ];
  for (const [at, mask, fault] of flags) {
    it(`octet ${at} with ${mask} changed: ${fault}`, async () => {
      const { octets, query } = asked(GREETING, 'TXT');
      const changed = Uint8Array.from(octets);
      changed[at] = (changed[at] ?? 0) ^ mask;
      const { result, faults } = await check(changed, query);
      assert.equal(result, 'not_valid');
      assert.ok(faults.includes(fault), faults.join());
    });
  }
});
