import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWireName, toHex } from '../../../../test/support/protocol/dns/fixtures.ts';
import { corpus, mutate, seededRng } from '../../../../test/support/protocol/dns/fuzz.ts';
import { EDNS_OPTION, OPCODE, RRTYPE, rcodeName } from '../codes.ts';
import { rdataToText } from '../rdata/present.ts';
import { findOption, isCookieLength } from './edns.ts';
import { decodeMessage, encodeMessage, type Message } from './message.ts';
import { decodeRequest, isRequestFault } from './request.ts';

const PACKETS = 50_000;
const SEED = 20_250_101;

/** Whether a well-formed message is one that the request decoder has no ground to refuse. */
function isOrdinaryQuery(message: Message): boolean {
  const { edns } = message;
  const cookie = edns === null ? null : findOption(edns.options, EDNS_OPTION.COOKIE);
  return (
    message.opcode === OPCODE.QUERY &&
    message.question.length === 1 &&
    message.answer.length === 0 &&
    message.authority.length === 0 &&
    message.additional.every((rr) => rr.type !== RRTYPE.TSIG) &&
    (edns === null || edns.version === 0) &&
    (cookie === null || isCookieLength(cookie.data.length))
  );
}

/** What must hold for any octets whatever. The names of the outcomes, for a look at how they spread. */
function check(packet: Uint8Array): string {
  const request = decodeRequest(packet, packet.length);
  const message = decodeMessage(packet);
  if (message !== null) {
    // Names and lengths are sound, so the message can be written again and then reads the same.
    assert.deepEqual(decodeMessage(encodeMessage(message)), message);
    for (const rr of message.answer) rdataToText(rr.type, rr.rdata);
  }
  if (request === null) return 'silence';
  if (isRequestFault(request)) {
    assert.ok(message === null || !isOrdinaryQuery(message));
    return rcodeName(request.rcode);
  }
  assert.ok(isWireName(request.qname));
  assert.equal(request.questionEnd, 12 + request.qname.length + 4);
  if (message !== null) assert.deepEqual(message.question[0]?.qname, request.qname);
  return 'request';
}

test('the same seed gives the same packets', () => {
  const [first, second] = [seededRng(1), seededRng(1)];
  const seed = corpus()[0]!;
  for (let i = 0; i < 100; i++) assert.deepEqual(mutate(seed, first), mutate(seed, second));
});

test('mutation leaves its seed alone', () => {
  const rng = seededRng(2);
  for (const seed of corpus()) {
    const before = toHex(seed);
    for (let i = 0; i < 20; i++) mutate(seed, rng);
    assert.equal(toHex(seed), before);
  }
});

test(`${PACKETS} mutated packets neither throw nor break an invariant`, () => {
  const seeds = corpus();
  const rng = seededRng(SEED);
  const outcomes = new Map<string, number>();
  for (let i = 0; i < PACKETS; i++) {
    const packet = mutate(seeds[rng(seeds.length)]!, rng);
    let outcome: string;
    try {
      outcome = check(packet);
    } catch (cause) {
      throw new Error(`packet ${i} of seed ${SEED}: ${toHex(packet)}`, { cause });
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  // A fuzzer that reaches only one kind of outcome tests nothing.
  for (const outcome of ['silence', 'request', 'FORMERR', 'NOTIMP', 'BADVERS', 'NOTAUTH', 'NOERROR']) {
    assert.ok((outcomes.get(outcome) ?? 0) >= 10, `${outcome}: ${JSON.stringify([...outcomes])}`);
  }
});

test('property: arbitrary octets never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (packet) => {
      check(packet);
    }),
    { numRuns: 2000 },
  );
});
