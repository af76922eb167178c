import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  keysMadeAt,
  messageOf,
  queryOf,
  START,
  signedNode,
  zoneOf,
} from '../../../test/support/dns/query/signed-node.ts';
import { readEde } from '../../protocol/dns/message/edns.ts';
import { MALFORMED_TEXTS, type MalformedCause, type Outcome } from '../../protocol/query/outcome.ts';

const clock = { now: START };

/** Response code and extended errors of the reply to a TXT question, or to one of another type. */
function told(name: string, { qtype = 16, outcome = null as Outcome | null, signed = false } = {}) {
  const service = {
    resource: 'units',
    info: () => ({ kind: 'refused' as const, until: 0 }),
    answer: () => outcome!,
  };
  const zones = zoneOf(signed ? keysMadeAt(START) : null, clock);
  const { handler } = signedNode({ zones }, clock, [service]);
  const reply = handler.slow(queryOf(name, { qtype, dnssecOk: signed }), 'udp', false);
  assert.ok(reply instanceof Uint8Array);
  const { rcode, edns } = messageOf(reply);
  return [rcode, ...(edns?.options.map(readEde) ?? [])];
}

describe('extended errors of what is not understood', () => {
  test('a name tells which part of it: label, operation, version', () => {
    const cases: readonly (readonly [string, MalformedCause])[] = [
      ['get.te_mp.acme.v1.uqrp.net', 'label'],
      ['get.\\001.temp.acme.v1.uqrp.net', 'label'],
      ['put.temp.acme.v1.uqrp.net', 'operation'],
      ['manifest.temp.public.v1.uqrp.net', 'operation'],
      ['get.temp.acme.w1.uqrp.net', 'version'],
    ];
    for (const [name, cause] of cases) {
      assert.deepEqual(told(name), [1, { infoCode: 0, text: MALFORMED_TEXTS[cause] }], name);
    }
  });

  test('a service tells the cause: each has a text of its own, and none repeats the question', () => {
    const texts = new Set<string>();
    for (const [cause, text] of Object.entries(MALFORMED_TEXTS)) {
      const outcome: Outcome = { kind: 'malformed', code: 'E005', cause: cause as MalformedCause };
      assert.deepEqual(told('get.x.units.public.v1.uqrp.net', { outcome }), [1, { infoCode: 0, text }]);
      texts.add(text);
    }
    assert.equal(texts.size, Object.keys(MALFORMED_TEXTS).length);
    const outcome: Outcome = { kind: 'malformed', code: 'E005' };
    assert.deepEqual(told('get.x.units.public.v1.uqrp.net', { outcome }), [
      1,
      { infoCode: 0, text: 'value not understood' },
    ]);
  });
});

describe('the signpost', () => {
  const HELP = [0, { infoCode: 0, text: 'see get.help.public.v1' }];

  test('a TXT question at the apex or at a name of fewer than four labels is told where help is', () => {
    for (const name of [
      'uqrp.net',
      'ns1.uqrp.net',
      'www.uqrp.net',
      'v1.uqrp.net',
      'weather.public.v1.uqrp.net',
    ]) {
      for (const signed of [false, true]) assert.deepEqual(told(name, { signed }), HELP, name);
    }
  });

  test('other types, and names long enough to be a query, are not', () => {
    assert.deepEqual(told('uqrp.net', { qtype: 1 }), [0]);
    assert.deepEqual(told('public.v1.uqrp.net', { qtype: 2 }), [0]);
    const outcome: Outcome = { kind: 'empty', reason: 'missing', until: 0 };
    assert.deepEqual(told('get.x.units.public.v1.uqrp.net', { outcome }), [0]);
  });
});
