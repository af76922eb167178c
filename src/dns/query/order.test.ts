import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Clockwork,
  cachedReply,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { deleted, minted, namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { spellQueryToken } from '../../protocol/query/query-token.ts';

const TOKEN = spellQueryToken(Buffer.alloc(32, 'acme'));

/** A node whose changes are visible at once: applied, then announced. */
function openNode(clock: Clockwork) {
  const node = signedNode({ zones: zoneOf(null, clock) }, clock);
  let seq = 0;
  const change = (...bodies: readonly ChangeBody[]): void => {
    const end = node.freshness.begin(bodies);
    void node.view.apply(bodies as never, ++seq);
    end();
  };
  const slow = (query: Uint8Array): string => {
    const { answer } = messageOf(node.handler.slow(query, 'udp', false) as Uint8Array);
    return answer.map((rr) => rdataToText(rr.type, rr.rdata)).join();
  };
  return { ...node, change, slow };
}

describe('a cached reply', () => {
  test('is void when the record changed between the count and the read of the view (E11)', () => {
    const clock: Clockwork = { now: START };
    const { handler, view, change, slow } = openNode(clock);
    change(namespaceUpserted('open', true), upserted('a.open.v1', 'old'));
    const query = queryOf('get.a.open.v1.uqrp.net', { dnssecOk: false });
    // A question's second answer is the first that is kept.
    slow(query);
    const read = view.record.bind(view);
    let isFirst = true;
    view.record = (key) => {
      const found = read(key);
      if (isFirst) change(deleted(key));
      isFirst = false;
      return found;
    };
    assert.match(slow(query), /b2xk|old/);
    assert.equal(isFirst, false, 'the change came in between');
    assert.equal(cachedReply(handler, query), null);
    assert.equal(slow(query), '');
  });

  test('to a private name ends with its record, before any deletion arrives (E19)', () => {
    const clock: Clockwork = { now: START };
    const { handler, change, slow } = openNode(clock);
    change(
      namespaceUpserted('acme'),
      minted('acme', TOKEN, START + 1e9),
      upserted('a.acme.v1', 'brief', { expiresAt: START + 5000 }),
    );
    const query = queryOf(`get.auth-${TOKEN}.a.acme.v1.uqrp.net`, { dnssecOk: false });
    for (const _ of [1, 2]) assert.notEqual(slow(query), '');
    assert.notEqual(cachedReply(handler, query), null);
    clock.now = START + 4999;
    assert.notEqual(cachedReply(handler, query), null);
    clock.now = START + 5000;
    assert.equal(cachedReply(handler, query), null);
    assert.equal(slow(query), '');
  });
});
