import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { type SignedZone, signedZone } from '../../../../test/support/sdk/signed-zone.ts';
import { assertTiled } from '../../../../test/support/sdk/spans.ts';
import { MessageError } from './cursor.ts';
import { type DnsMessage, decodeMessage, recordsIn } from './message.ts';

const HEADER = 12;
const u8 = fc.nat(0xff);

describe('octets that are no message', () => {
  let replies: readonly Uint8Array[];
  before(async () => {
    const zone: SignedZone = await signedZone();
    replies = [
      zone.ask('get.greeting.open.v1.uqrp.net', 16),
      zone.ask('uqrp.net', 48),
      zone.ask('uqrp.net', 6),
      zone.ask('uqrp.net', 2),
      zone.ask('get.absent.open.v1.uqrp.net', 16),
      zone.ask('get.a.closed.v1.uqrp.net', 16),
      zone.ask('get..bad_label.open.v1.uqrp.net'.replace('..', '.'), 16),
    ];
  });

  it('replies of the server are read whole, and not one octet less or more', () => {
    for (const reply of replies) {
      const message = decodeMessage(reply);
      assertTiled(message);
      for (let length = 0; length < reply.length; length += 1) {
        assert.throws(() => decodeMessage(reply.subarray(0, length)), MessageError);
      }
      assert.throws(() => decodeMessage(Buffer.concat([reply, Buffer.of(0)])), {
        message: `octets after the end at octet ${reply.length}`,
        at: reply.length,
      });
    }
  });

  it('replies with changed octets are messages or a MessageError', () => {
    const change = fc.array(fc.tuple(fc.nat(5000), u8), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.nat(100), change, (which, changes) => {
        const changed = Uint8Array.from(replies[which % replies.length] ?? []);
        for (const [at, octet] of changes) changed[at % changed.length] = octet;
        assertSafe(changed);
      }),
      { seed: 14, numRuns: 3000 },
    );
  });

  it('any octets are a message or a MessageError', () => {
    const header = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3), fc.nat(3)).map((counts) => {
      const head = Buffer.alloc(HEADER);
      for (const [at, count] of counts.entries()) head.writeUInt16BE(count, 4 + 2 * at);
      return head;
    });
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 120 }), (head, rest) =>
        assertSafe(Buffer.concat([head, rest])),
      ),
      { seed: 14, numRuns: 3000 },
    );
  });

  it('pointers forward, to themselves and in a circle end', () => {
    for (const pointer of [HEADER, HEADER + 2, 0x3fff]) {
      const octetsOf = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), Buffer.alloc(6)]);
      octetsOf.writeUInt16BE(0xc000 | pointer, HEADER);
      assert.throws(() => decodeMessage(octetsOf), { message: `not a name at octet ${HEADER}` });
    }
    const circle = Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0xc0, 12, 0, 1, 0, 1]);
    assert.throws(() => decodeMessage(circle), MessageError);
  });

  it('a chain of pointers to long names takes no time worth naming', () => {
    const questions = 20_000;
    const chain = Buffer.alloc(HEADER + questions * 6);
    chain.writeUInt16BE(questions, 4);
    for (let at = HEADER + 5; at + 6 <= chain.length; at += 6)
      chain.writeUInt16BE(0xc000 | Math.min(0x3fff, at - 6), at);
    assert.throws(() => decodeMessage(chain), MessageError);
    assert.throws(() => decodeMessage(new Uint8Array(65_536)), { message: 'too long at octet 65535' });
  });
});

function assertSafe(octetsOf: Uint8Array): void {
  let message: DnsMessage;
  try {
    message = decodeMessage(octetsOf);
  } catch (error) {
    assert.ok(error instanceof MessageError, String(error));
    assert.ok(error.at >= 0 && error.at <= octetsOf.length);
    return;
  }
  assertTiled(message);
  assert.ok(recordsIn(message, 'answer').every(({ from, to }) => from < to));
}
