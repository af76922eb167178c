import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allServices } from '../../test/support/services/all-services.ts';
import { askName, checkDescription, NOW } from '../../test/support/services/check-service.ts';
import { publish } from '../dns/schema/publish.ts';
import { isLabel } from '../protocol/names/labels.ts';
import type { Query } from '../protocol/names/query-name.ts';
import type { Service } from './service.ts';

const services = allServices();

test('every service is there, once', () => {
  const names = services.map(({ resource }) => resource).sort();
  const wanted = (
    'aerial base btc cidr coin crypto dice epoch forecast forex geoip moon pi random stock sun time units ' +
    'uuid weather words'
  ).split(' ');
  assert.deepEqual(names, wanted.sort());
  assert.ok(names.every(isLabel));
});

test('every description holds, and every example is understood', async () => {
  for (const service of services) {
    checkDescription(service);
    for (const name of service.about.examples) {
      const { kind } = await askName(service, name);
      assert.notEqual(kind, 'malformed', name);
      assert.notEqual(kind, 'empty', name);
    }
  }
});

test('a location is never the asker: a missing one, and every way to mean it, is FORMERR', async () => {
  const located = services.filter(({ about }) => 'location' in about.placeholders);
  assert.deepEqual(located.map(({ resource }) => resource).sort(), ['forecast', 'sun', 'time', 'weather']);
  for (const service of located) {
    for (const params of [[], ['me'], ['here'], ['auto'], ['my-ip'], ['ip-8-8-8-8'], ['self', 'london']]) {
      assert.equal(
        (await service.answer(params, NOW)).kind,
        'malformed',
        `${service.resource} ${params.join('.')}`,
      );
    }
  }
  const geoip = services.find(({ resource }) => resource === 'geoip')!;
  for (const label of ['ip-me', 'ip-auto', 'ip-', 'ip-client', 'me']) {
    assert.equal((await geoip.answer([label], NOW)).kind, 'malformed', label);
  }
});

/** Compiles only while a service is given labels and a time, and nothing else. */
type Given = Parameters<Service['answer']>;
const given: Given extends [params: readonly string[], now: number]
  ? [params: readonly string[], now: number] extends Given
    ? true
    : never
  : never = true;

test('of a query a service sees its parameters and the time, not even the token', async () => {
  assert.ok(given);
  const seen: unknown[][] = [];
  const spied = services.map((service): Service => {
    return {
      ...service,
      answer(...args) {
        seen.push(args);
        return service.answer(...args);
      },
    };
  });
  const published = publish(spied);
  for (const service of spied) {
    const geoip = service.operation === 'geoip';
    const query: Query & { readonly address: string } = {
      operation: service.operation,
      token: 'the-token',
      params: geoip ? [] : ['label'],
      resource: geoip ? 'ip-8-8-8-8' : service.resource,
      namespace: 'public',
      version: 'v1',
      key: 'the-key',
      // Should a transport ever put one there.
      address: '203.0.113.7',
    };
    await published.get(service.resource)!.answer(query, NOW, 'uqrp.net');
  }
  assert.equal(seen.length, services.length);
  for (const args of seen) {
    assert.equal(args.length, 2);
    assert.ok(Array.isArray(args[0]) && args[1] === NOW);
    assert.doesNotMatch(JSON.stringify(args), /token|key|203/);
  }
});
