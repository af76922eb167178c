import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameFromText } from '../../wire/name.ts';
import { SeenNames } from './seen-names.ts';

test('a name is new once, whatever its case', () => {
  const seen = new SeenNames();
  const name = nameFromText('get.a.acme.v1.uqrp.net')!;
  assert.equal(seen.again(name), false);
  assert.equal(seen.again(name), true);
  assert.equal(seen.again(nameFromText('GET.a.Acme.v1.uqrp.net')!), true);
  assert.equal(seen.again(nameFromText('get.b.acme.v1.uqrp.net')!), false);
});

test('a flood of names is forgotten', () => {
  const seen = new SeenNames();
  const known = Array.from({ length: 200_000 }, (_, i) => seen.again(nameFromText(`n${i}.uqrp.net`)!));
  assert.ok(known.filter(Boolean).length < 100);
});
