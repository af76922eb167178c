import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allServices } from '../../../../test/support/services/all-services.ts';
import { threeExamples } from './examples.ts';

const ZONE = 'uqrp.net';

it('a service has three examples where it can, all of them names that it understands', async () => {
  for (const service of allServices()) {
    const { resource, about } = service;
    const format = { query_template: `${about.template}.${ZONE}`, placeholders: about.placeholders };
    const names = threeExamples(about.examples, format);
    assert.equal(names.length, new Set(names).size);
    assert.ok(names.length >= (resource === 'btc' ? 1 : 2), `${resource}: ${names.join(' ')}`);
    for (const name of names) {
      assert.doesNotMatch(name, /[{}]/);
      const labels = name.slice(0, -ZONE.length - 1).split('.');
      const params = labels.slice(1, labels[0] === 'geoip' ? -2 : -3);
      const { kind } = await service.answer(params, Date.UTC(2026, 0, 1));
      assert.notEqual(kind, 'malformed', name);
    }
  }
});
