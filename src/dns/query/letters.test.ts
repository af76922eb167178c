import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerOf,
  keysMadeAt,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { decodeParam } from '../../protocol/query/params.ts';
import type { PublicService } from './operations.ts';

const clock = { now: START };

/** Answers with the text of its one label. */
const echo: PublicService = {
  resource: 'echo',
  info: () => ({ kind: 'refused', until: 0 }),
  answer({ params }) {
    const text = decodeParam(params[0] ?? '');
    return text === null
      ? { kind: 'malformed', code: 'E005' }
      : answerOf(Buffer.from(text).toString('hex'), START + 600_000);
  },
};

const { handler } = signedNode({ zones: zoneOf(keysMadeAt(START), clock) }, clock, [echo]);

function ask(label: string, dnssecOk = true): { readonly text: string | null; readonly isCached: boolean } {
  const packet = queryOf(`get.${label}.echo.public.v1.uqrp.net`, { dnssecOk });
  const out = Buffer.alloc(4096);
  const octets = handler.hot(packet, packet.length, 'tcp', out);
  const reply = octets > 0 ? new Uint8Array(out.subarray(0, octets)) : handler.slow(packet, 'tcp', true);
  assert.ok(reply instanceof Uint8Array);
  const [record] = messageOf(reply).answer;
  const text = record === undefined ? null : Buffer.from(record.rdata).toString('latin1', 1);
  return { text: text && Buffer.from(text, 'hex').toString(), isCached: octets > 0 };
}

const TEXTS = ['london', 'tokyo', 'paris', 'London', 'rome', 'LONDON', 'São Paulo', '東京', 'aAbBcC zZ?>'];

test('b64- is decoded from the letters as they were received, past the packet cache (dns finding differs 6)', () => {
  for (const dnssecOk of [false, true]) {
    for (const text of TEXTS) {
      const body = Buffer.from(text).toString('base64url');
      for (const prefix of ['b64-', 'B64-']) {
        for (let i = 0; i < 4; i++) {
          assert.deepEqual(ask(prefix + body, dnssecOk), { text, isCached: false }, text);
        }
      }
    }
  }
});

test('two names that differ in the case of letters alone have each their own answer', () => {
  // QUJD is ABC, and qujd no UTF-8; YWJj is abc, and YWJJ abI.
  for (let i = 0; i < 4; i++) {
    assert.equal(ask('b64-YWJj').text, 'abc');
    assert.equal(ask('b64-YWJJ').text, 'abI');
    assert.equal(ask('b64-QUJD').text, 'ABC');
    assert.equal(ask('b64-qujd').text, null);
  }
});

test('other labels are answered from the packet cache, in any letter case', () => {
  const ways = ['hex-6c6f6e646f6e', 'HEX-6C6f6e646F6e', 'hex-6c6f6e646f6e', 'hex-6C6F6E646F6E'].map((label) =>
    ask(label),
  );
  assert.deepEqual(new Set(ways.map(({ text }) => text)), new Set(['london']));
  assert.equal(ways.at(-1)?.isCached, true);
});
