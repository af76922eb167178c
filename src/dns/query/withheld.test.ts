import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  cachedReply,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { minted, namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import { readEde } from '../../protocol/dns/message/edns.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { spellQueryToken } from '../../protocol/query/query-token.ts';

const TOKEN = spellQueryToken(Buffer.alloc(32, 'acme'));
const OPEN = 'get.a.acme.v1.uqrp.net';
const PRIVATE = `get.auth-${TOKEN}.a.acme.v1.uqrp.net`;

function node() {
  const clock = { now: START };
  const { view, freshness, handler } = signedNode({ zones: zoneOf(null, clock) }, clock);
  let seq = 0;
  const ask = (name: string, qtype: number = RRTYPE.TXT) => {
    const { rcode, answer, edns } = messageOf(
      handler.slow(queryOf(name, { qtype, dnssecOk: false }), 'udp', false) as Uint8Array,
    );
    const text = answer.map(({ type, rdata }) => rdataToText(type, rdata)).join();
    return { rcode, text, errors: edns?.options.map(readEde) ?? [] };
  };
  return {
    ask,
    isCached: (name: string) => cachedReply(handler, queryOf(name, { dnssecOk: false })) !== null,
    change: (...bodies: readonly ChangeBody[]): void => {
      const end = freshness.begin(bodies);
      void view.apply(bodies as never, ++seq);
      end();
    },
  };
}

const erased = upserted('a.acme.v1', '', { data: null });
const failure = (rcode: number, infoCode: number, text: string) => ({
  rcode,
  text: '',
  errors: [{ infoCode, text }],
});
const NOT_READY = failure(RCODE.SERVFAIL, 14, 'a newer value is on its way');
const REFUSED = failure(RCODE.REFUSED, 18, 'not authorised');

describe('a record that the view withholds', () => {
  test('is not what it was, also for those who may read only since then, and is asked for again', () => {
    const { ask, change, isCached } = node();
    change(namespaceUpserted('acme'), minted('acme', TOKEN, START + 1e9), upserted('a.acme.v1', 'secret'));
    for (let i = 0; i < 3; i++) assert.match(ask(PRIVATE).text, /c2VjcmV0/);
    change(erased);
    assert.deepEqual(ask(PRIVATE), NOT_READY);
    assert.deepEqual(ask(OPEN), REFUSED, 'who may not read learns nothing');
    change(namespaceUpserted('acme', true));
    for (let i = 0; i < 3; i++) assert.deepEqual(ask(OPEN), NOT_READY);
    assert.equal(isCached(OPEN), false);
    assert.deepEqual(ask(OPEN, RRTYPE.A), { rcode: RCODE.NOERROR, text: '', errors: [] });
    change(upserted('a.acme.v1', 'later'));
    assert.match(ask(OPEN).text, /bGF0ZXI=/);
  });
});
