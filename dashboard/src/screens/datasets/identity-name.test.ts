import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dateOfDay, dayOf, identityName } from './identity-name.ts';

it('names of identities have the item and the date', () => {
  const question = { slug: 'gtin-demo', item: '4006381333931', zone: 'uqrp.net', day: null };
  assert.equal(identityName(question), 'identity.gtin-demo-k-4006381333931.datasets.public.v1.uqrp.net');
  const day = dayOf('2024-02-29');
  const dated = 'identity.gtin-demo-k-4006381333931-t-2024-02-29.datasets.public.v1.uqrp.net';
  assert.equal(identityName({ ...question, day }), dated);
  assert.equal(dateOfDay(day), '2024-02-29');
  for (const item of ['', 'a.b', 'a b', '-', 'a'.repeat(60)])
    assert.equal(identityName({ ...question, item }), null);
});
