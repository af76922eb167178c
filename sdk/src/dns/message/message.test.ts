import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { rrtypeName as typeName, parseRrtype as typeOf } from '../../../../src/protocol/dns/codes.ts';
import { assertTiled } from '../../../../test/support/sdk/spans.ts';
import { MessageError, nameFromText } from './cursor.ts';
import { type DnsMessage, decodeMessage, encodeQuery } from './message.ts';
import { rdataOf } from './record.ts';

const SEED = { seed: 14, numRuns: 400 };

const label = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
const name = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));
const u8 = fc.nat(0xff);
const u16 = fc.nat(0xffff);
const u32 = fc.nat(0xffff_ffff);
/** Plain objects, which deepEqual compares with those of dns-packet. */
const record = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> =>
  fc.record(model, { noNullPrototype: true });
const octets = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array));

interface Answer {
  readonly name: string;
  readonly ttl: number;
  readonly type: string;
  readonly data: unknown;
}

/** Records as dns-packet writes them. */
const answer: fc.Arbitrary<Answer> = fc
  .tuple(
    name,
    u32,
    fc.oneof(
      record({ type: fc.constant('TXT'), data: fc.array(octets(0, 255), { minLength: 1, maxLength: 3 }) }),
      record({ type: fc.constantFrom('NS', 'CNAME', 'PTR', 'DNAME'), data: name }),
      record({ type: fc.constant('A'), data: fc.ipV4() }),
      record({
        type: fc.constant('SOA'),
        data: record({
          mname: name,
          rname: name,
          serial: u32,
          refresh: u32,
          retry: u32,
          expire: u32,
          minimum: u32,
        }),
      }),
      record({
        type: fc.constant('DNSKEY'),
        data: record({ flags: u16, algorithm: u8, key: octets(1, 64) }),
      }),
      record({
        type: fc.constant('DS'),
        data: record({ keyTag: u16, algorithm: u8, digestType: u8, digest: octets(1, 32) }),
      }),
      record({
        type: fc.constant('RRSIG'),
        data: record({
          typeCovered: fc.constantFrom('TXT', 'NSEC', 'SOA'),
          algorithm: u8,
          labels: u8,
          originalTTL: u32,
          expiration: u32,
          inception: u32,
          keyTag: u16,
          signersName: name,
          signature: octets(1, 64),
        }),
      }),
      record({
        type: fc.constant('NSEC'),
        data: record({
          nextDomain: name,
          rrtypes: fc.uniqueArray(fc.constantFrom('A', 'TXT', 'RRSIG', 'NSEC', 'CAA'), { minLength: 1 }),
        }),
      }),
    ),
  )
  .map(([owner, ttl, rest]) => ({ name: owner, ttl, ...(rest as Pick<Answer, 'type' | 'data'>) }));

interface Nsec {
  readonly rrtypes: readonly string[];
}

/** A bitmap has its types in ascending order. */
function inOrder(data: Nsec): Nsec {
  return { ...data, rrtypes: [...data.rrtypes].sort((a, b) => (typeOf(a) ?? 0) - (typeOf(b) ?? 0)) };
}

/** The value of our record in the form of dns-packet. */
function asPacket(message: DnsMessage, at: number): unknown {
  const record = message.records[at];
  assert.ok(record !== undefined);
  const type = typeName(record.type);
  const buffer = (value: Uint8Array): Buffer => Buffer.from(value);
  if (type === 'TXT') return rdataOf(record, 'TXT')?.characters.map(buffer);
  if (type === 'A') return record.text;
  if (type === 'SOA') {
    const { mname, rname, ...numbers } = rdataOf(record, 'SOA') ?? assert.fail();
    return { mname: mname.text, rname: rname.text, ...numbers };
  }
  if (type === 'DNSKEY') {
    const { keyFlags, algorithm, publicKey } = rdataOf(record, 'DNSKEY') ?? assert.fail();
    return { flags: keyFlags, algorithm, key: buffer(publicKey) };
  }
  if (type === 'DS') {
    const ds = rdataOf(record, 'DS') ?? assert.fail();
    return { ...ds, digest: buffer(ds.digest) };
  }
  if (type === 'RRSIG') {
    const { covered, originalTtl, signer, signature, ...rest } = rdataOf(record, 'RRSIG') ?? assert.fail();
    return {
      ...rest,
      typeCovered: typeName(covered),
      originalTTL: originalTtl,
      signersName: signer.text,
      signature: buffer(signature),
    };
  }
  if (type === 'NSEC') {
    const { next, types } = rdataOf(record, 'NSEC') ?? assert.fail();
    return { nextDomain: next.text, rrtypes: types.map(typeName) };
  }
  return record.text.slice(0, -1);
}

describe('messages', () => {
  it('of dns-packet are read as they were written', () => {
    fc.assert(
      fc.property(u16, name, fc.array(answer, { maxLength: 4 }), (id, qname, answers) => {
        const packet = dnsPacket.encode({
          type: 'response',
          id,
          flags: 0x0400,
          questions: [{ type: 'TXT', name: qname }],
          answers,
        });
        const message = decodeMessage(packet);
        assertTiled(message);
        assert.deepEqual([message.id, message.flags.qr, message.flags.aa], [id, true, true]);
        assert.equal(message.questions[0]?.name.text, qname);
        for (const [at, wanted] of answers.entries()) {
          const record = message.records[at];
          assert.deepEqual([record?.owner.text, record?.ttl], [wanted.name, wanted.ttl]);
          const sorted = wanted.type === 'NSEC' ? inOrder(wanted.data as Nsec) : wanted.data;
          assert.deepEqual(asPacket(message, at), sorted);
        }
      }),
      SEED,
    );
  });

  it('questions are those of the options', () => {
    const message = decodeMessage(
      encodeQuery('GeT.a.acme.v1.uqrp.net', { type: 48, dnssecOk: true, checkingDisabled: true, id: 9 }),
    );
    assert.equal(message.questions[0]?.name.text, 'GeT.a.acme.v1.uqrp.net');
    assert.deepEqual([message.id, message.questions[0]?.type, message.octets.length % 128], [9, 48, 0]);
    assert.deepEqual([message.flags.rd, message.flags.cd, message.edns?.dnssecOk], [true, true, true]);
    for (const wrong of ['a..b', 'ä.b', 'a b', 'a\\.b', 'a'.repeat(64), 'abc.'.repeat(64), '..']) {
      assert.throws(() => encodeQuery(wrong), RangeError, wrong);
    }
    assert.equal(nameFromText('').text, '.');
    assert.equal(nameFromText('a.').text, 'a');
    assert.equal(nameFromText(`${'abc.'.repeat(63)}d`).wire.length, 255);
  });

  it('addresses and unknown types have the text of master files', () => {
    const message = decodeMessage(
      dnsPacket.encode({
        type: 'response',
        answers: [
          { type: 'AAAA', name: 'a', data: '2001:db8::1' },
          { type: 'UNKNOWN_65280' as never, name: 'a', data: Buffer.from([1, 255]) as never },
          { type: 'TXT', name: 'a', data: [Buffer.from('a"\\\0é')] },
          { type: 'HINFO', name: 'a', data: { cpu: 'RFC8482', os: '' } },
          { type: 'CAA', name: 'a', data: { flags: 0, tag: 'issue', value: 'ca.example' } },
        ],
      }),
    );
    const texts = message.records.map(({ text }) => text);
    assert.deepEqual(texts, [
      '2001:db8::1',
      '\\# 2 01FF',
      '"a\\"\\\\\\000\\195\\169"',
      '"RFC8482" ""',
      '0 issue "ca.example"',
    ]);
  });

  it('types have names, in any case', () => {
    assert.deepEqual(['txt', 'TYPE16', '16', 'nxname', 'TYPE65535'].map(typeOf), [16, 16, 16, 128, 65_535]);
    assert.deepEqual(
      ['', '0', 'TYPE0', '65536', 'constructor', 'TYPE01', '-1'].map(typeOf),
      Array.from({ length: 7 }, () => null),
    );
    assert.equal(typeName(65_280), 'TYPE65280');
  });
});

describe('options of EDNS', () => {
  const withOptions = (options: readonly { code: number; data: Buffer }[]): DnsMessage =>
    decodeMessage(
      dnsPacket.encode({
        type: 'response',
        additionals: [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: 1232,
            extendedRcode: 1,
            ednsVersion: 0,
            flags: 0x8000,
            options,
          } as never,
        ],
      }),
    );

  it('are read: extended errors, cookies, padding', () => {
    const { edns, rcode } = withOptions([
      { code: 15, data: Buffer.from('\0\x12not authorised', 'latin1') },
      { code: 15, data: Buffer.from([0, 99]) },
      { code: 10, data: Buffer.from('0123456789abcdef', 'latin1') },
      { code: 12, data: Buffer.alloc(5) },
      { code: 11, data: Buffer.from([0, 100]) },
      { code: 65_001, data: Buffer.from([7]) },
    ]);
    assert.equal(rcode, 16);
    assert.deepEqual(edns?.extendedErrors, [
      { code: 18, name: 'Prohibited', text: 'not authorised' },
      { code: 99, name: 'Extended error 99', text: '' },
    ]);
    assert.deepEqual(
      edns?.options.map((option) => `${option.name}: ${option.text}`),
      [
        'extended error: 18 Prohibited: not authorised',
        'extended error: 99 Extended error 99',
        'cookie: 3031323334353637 3839616263646566',
        'padding: 5 octets',
        'keepalive: 10 s',
        'option 65001: 07',
      ],
    );
    assert.deepEqual([edns?.dnssecOk, edns?.udpSize, edns?.isPaddingZero], [true, 1232, true]);
  });

  it('padding that is not zero is noticed', () => {
    assert.equal(withOptions([{ code: 12, data: Buffer.from([0, 1]) }]).edns?.isPaddingZero, false);
  });

  it('a second OPT record, or one in another section, is no message', () => {
    const opt = {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 1,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: 0,
      options: [],
    };
    assert.throws(
      () => decodeMessage(dnsPacket.encode({ type: 'response', additionals: [opt, opt] as never })),
      MessageError,
    );
    assert.throws(
      () => decodeMessage(dnsPacket.encode({ type: 'response', answers: [opt] as never })),
      MessageError,
    );
  });
});
