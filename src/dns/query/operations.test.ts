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
import { identityLabel } from '../../protocol/datasets/query.ts';
import { RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { OPERATIONS, type Query } from '../../protocol/names/query-name.ts';
import type { DatasetView } from '../../view/view.ts';
import { datasetService, type PublicService } from './operations.ts';

const clock = { now: START };
const zones = zoneOf(keysMadeAt(START), clock);
const RESOURCES = ['weather', 'geoip', 'datasets', 'ip-8-8-8-8', 'ip-x', 'ip', 'none', 'get', 'v1'];
const VERSIONS = ['v1', 'v2'];

/** A service that answers every query with a text. */
function service(resource: string): PublicService {
  const answer = () => answerOf(resource, START + 1000);
  return { resource, info: answer, answer };
}

const NODES: readonly (readonly [served: string, services: readonly PublicService[]])[] = [
  ['nothing', []],
  ['weather', [service('weather')]],
  ['weather and geoip', [service('weather'), service('geoip')]],
  ['weather, geoip and datasets', [service('weather'), service('geoip'), service('datasets')]],
];

for (const [served, services] of NODES) {
  const { handler } = signedNode({ zones }, clock, services);

  function ask(name: string) {
    const reply = handler.slow(queryOf(`${name}.uqrp.net`), 'tcp', true);
    assert.ok(reply instanceof Uint8Array);
    return messageOf(reply);
  }

  /** Whether the NSEC record at a name says that nothing exists there or below (RFC 9824 §3). */
  function isDenied(name: string): boolean {
    const nsec = ask(name).authority.find(({ type }) => type === RRTYPE.NSEC);
    assert.ok(nsec, name);
    return rdataToText(nsec.type, nsec.rdata).split(' ').includes('NXNAME');
  }

  test(`existence and answer agree for every operation, served: ${served}`, () => {
    const answered: string[] = [];
    for (const version of VERSIONS) {
      for (const resource of RESOURCES) {
        const below = `${resource}.public.${version}`;
        const names = OPERATIONS.map((operation) => `${operation}.${below}`);
        const answers = names.filter((name) => {
          const message = ask(name);
          return message.rcode === RCODE.NOERROR && message.answer.length > 0;
        });
        assert.equal(isDenied(below), answers.length === 0, below);
        answered.push(...answers);
      }
    }
    const expected = services.flatMap(({ resource }) => {
      if (resource === 'datasets') return ['manifest.datasets', 'identity.datasets'];
      const own = [`get.${resource}`, `info.${resource}`];
      return resource === 'geoip' ? [...own, 'geoip.ip-8-8-8-8', 'geoip.ip-x'] : own;
    });
    // `get` and `info` of a resource that begins with `ip-` select a service of that very name: there is none.
    assert.deepEqual(answered.sort(), expected.map((name) => `${name}.public.v1`).sort());
  });

  test(`the names above a served resource are not denied, served: ${served}`, () => {
    assert.equal(isDenied('public.v1'), false);
    assert.equal(isDenied('public.v2'), true);
  });
}

test('operations of datasets are REFUSED at the reserved resource and malformed elsewhere, served or not', () => {
  for (const [, services] of NODES) {
    const { handler } = signedNode({ zones }, clock, services);
    const rcode = (name: string) =>
      messageOf(handler.slow(queryOf(`${name}.uqrp.net`), 'tcp', true) as Uint8Array).rcode;
    for (const operation of ['manifest', 'identity']) {
      assert.equal(rcode(`${operation}.datasets.acme.v1`), RCODE.REFUSED);
      assert.equal(rcode(`${operation}.datasets.public.v2`), RCODE.REFUSED);
      assert.equal(rcode(`${operation}.weather.public.v1`), RCODE.FORMERR);
    }
    for (const operation of ['get', 'info', 'geoip']) {
      assert.equal(rcode(`${operation}.datasets.public.v1`), RCODE.REFUSED);
    }
    assert.equal(rcode('geoip.weather.public.v1'), RCODE.FORMERR);
    assert.equal(rcode('geoip.ip-8-8-8-8.acme.v1'), RCODE.FORMERR);
    assert.equal(rcode('info.weather.acme.v1'), RCODE.REFUSED);
  }
});

test('an answer of a window is kept until its TTL would reach past the end, and after the end until that is settled', () => {
  // 15 January 2027, 08:00.
  const to = 1_800_000_000;
  const facts = { from: null, to, issuer: 'a', brand: 'b', cc: 'US', type: 'c' };
  const view = { identity: () => [facts], checkpoint: () => null } as unknown as DatasetView;
  const datasets = datasetService(view, { asOf: true, log: false });
  const keptAt = (now: number, asOf: string | null) => {
    const query = {
      operation: 'identity',
      params: [identityLabel('shops', 'abc', asOf)],
    } as unknown as Query;
    const outcome = datasets.answer(query, now * 1_000, 'uqrp.net');
    assert.ok(!(outcome instanceof Promise) && outcome.kind === 'answer', JSON.stringify(outcome));
    return [outcome.ttl, outcome.until];
  };
  assert.deepEqual(keptAt(to - 10_000, null), [3_600, (to - 3_600) * 1_000 + 1]);
  assert.deepEqual(keptAt(to - 100, null), [100, (to - 100) * 1_000 + 1]);
  assert.deepEqual(keptAt(to + 600, '20270114'), [3_600, (to + 3_600) * 1_000 + 1]);
});
