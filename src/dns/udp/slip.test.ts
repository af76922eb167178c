import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ednsQuery, header, option, optionsOf, query } from '../../../test/support/dns/fakes.ts';
import { corpus, mutate, seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import { decodeMessage } from '../../protocol/dns/message/message.ts';
import { UDP_OCTETS, writeSlip } from './replies.ts';

function slip(message: Uint8Array): Uint8Array | null {
  const out = Buffer.alloc(UDP_OCTETS, 0xee);
  const octets = writeSlip(message, message.length, out);
  return octets === 0 ? null : out.subarray(0, octets);
}

test('a truncated reply has header and question with TC, and an OPT record without options if the query had one', () => {
  const plain = decodeMessage(slip(query(9, 'abc'))!)!;
  assert.deepEqual(
    [plain.id, plain.qr, plain.tc, plain.rd, plain.rcode, plain.question.length, plain.edns],
    [9, true, true, true, 0, 1, null],
  );
  for (const dnssecOk of [false, true]) {
    const asked = ednsQuery(9, 'aBc', { dnssecOk, payload: 4096, options: [option(10, '0102030405060708')] });
    const reply = slip(asked)!;
    const { edns, question, answer } = decodeMessage(reply)!;
    assert.deepEqual([edns?.dnssecOk, edns?.payload, optionsOf(reply)], [dnssecOk, 1232, []]);
    assert.deepEqual([question, answer], [decodeMessage(asked)!.question, []]);
  }
});

test('responses, other opcodes and messages without one whole question get no reply', () => {
  const response = query(1, 'abc');
  response[2]! |= 0x80;
  const notify = query(1, 'abc');
  notify[2]! |= 0x20;
  const two = query(1, 'abc');
  two[5] = 2;
  const none = header(1, 0, 0);
  none[5] = 0;
  for (const message of [response, notify, two, none, query(1, 'abc').subarray(0, -1), new Uint8Array(11)])
    assert.equal(slip(message), null);
  assert.equal(slip(Buffer.concat([header(1, 0, 0), Buffer.alloc(600, '\x01a'), Buffer.alloc(9)])), null);
  assert.equal(decodeMessage(slip(ednsQuery(1, 'abc', { version: 1 }))!)!.edns, null);
});

test('a truncated reply is never longer than its query', () => {
  const rng = seededRng(5);
  const seeds = [...corpus(), ednsQuery(1, 'abc', { options: [option(12, '00')] })];
  let slipped = 0;
  for (let i = 0; i < 20_000; i++) {
    const message = mutate(seeds[rng(seeds.length)]!, rng);
    const reply = slip(message);
    if (reply === null) continue;
    slipped++;
    assert.ok(reply.length <= message.length);
    assert.equal(reply[2]! & 0x82, 0x82);
  }
  assert.ok(slipped > 1000, `${slipped} slipped`);
});
