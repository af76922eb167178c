import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { corpus, mutate, seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import { EDNS_OPTION } from './codes.ts';
import { readOptions } from './message/edns.ts';
import { encodeQuery } from './message/message.ts';
import { decodeRequest, isRequestFault } from './message/request.ts';
import { nameFromText, skipName } from './name.ts';
import {
  afterName,
  afterOption,
  afterQuestion,
  OPT_OCTETS,
  optOfReply,
  optOfRequest,
  truncateInto,
  udpLimit,
} from './skim.ts';

const NAME = nameFromText('get.a.b.v1.uqrp.net')!;

function query(options: { code: number; data: Uint8Array }[]): Uint8Array {
  return encodeQuery(NAME, 16, { id: 1, rd: true, edns: { payload: 1232, dnssecOk: true, options } });
}

test('a name ends where the strict reader says, if it ends at all', () => {
  const random = seededRng(7);
  for (const packet of corpus()) {
    for (let round = 0; round < 20; round++) {
      const bytes = mutate(packet, random);
      const strict = skipName(bytes, 12, bytes.length);
      if (strict >= 0) assert.equal(afterName(bytes, 12, bytes.length), strict);
    }
  }
  assert.ok(afterName(Uint8Array.of(3, 97, 97), 0, 3) < 0, 'cut short');
  assert.ok(afterName(Uint8Array.of(0x40, 0), 0, 2) < 0, 'a reserved label type');
  assert.ok(
    afterName(Uint8Array.of(3, 97, 97), 0, 3) + 10 < 0,
    'negative with the fixed fields of a record too',
  );
});

test('question and OPT record of a request are where the decoder finds them', () => {
  const random = seededRng(11);
  let found = 0;
  for (const packet of corpus()) {
    for (let round = 0; round < 20; round++) {
      const bytes = mutate(packet, random);
      const request = decodeRequest(bytes, bytes.length);
      if (request === null || isRequestFault(request)) continue;
      assert.equal(afterQuestion(bytes, bytes.length), request.questionEnd);
      assert.equal(optOfRequest(bytes, request.questionEnd, bytes.length) > 0, request.edns !== null);
      found++;
    }
  }
  assert.ok(found > 100, `${found}`);
});

test('options are walked as the decoder walks them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      let at = 0;
      while (at >= 0 && at < bytes.length) at = afterOption(bytes, at, bytes.length);
      assert.equal(at < 0, readOptions(bytes, 0, bytes.length) === null);
    }),
    { numRuns: 2000 },
  );
});

test('a reply over UDP has 512 octets at least, and what client and server both allow at most', () => {
  const limits = [null, 0, 511, 512, 513, 1231, 1232, 1233, 65_535].map((payload) => udpLimit(payload, 1232));
  assert.deepEqual(limits, [512, 512, 512, 512, 513, 1231, 1232, 1232, 1232]);
});

test('truncation keeps header, question and OPT record, in a copy or in place', () => {
  const whole = query([{ code: EDNS_OPTION.EDE, data: Uint8Array.of(0, 18) }]);
  const questionEnd = afterQuestion(whole, whole.length);
  const opt = optOfReply(whole, whole.length);
  assert.equal(opt, questionEnd);
  // Ten octets between question and OPT record stand for the answer section.
  const reply = Buffer.concat([whole.subarray(0, opt), Buffer.alloc(10, 0xff), whole.subarray(opt)]);
  reply[7] = 1;
  const copy = Buffer.alloc(reply.length, 0xee);
  const octets = truncateInto(copy, reply, questionEnd, opt + 10, reply.length);
  const expected = Buffer.from(whole);
  expected[2] = expected[2]! | 0x02;
  assert.deepEqual(copy.subarray(0, octets), expected);
  assert.equal(copy[octets], 0xee, 'nothing is written behind the message');

  assert.equal(truncateInto(reply, reply, questionEnd, opt + 10, reply.length), octets);
  assert.deepEqual(reply.subarray(0, octets), expected);

  const bare = truncateInto(copy, reply, questionEnd, reply.length, reply.length);
  assert.equal(bare, octets - OPT_OCTETS - 6);
  assert.equal(copy[11], 0, 'no OPT record is counted');
});
