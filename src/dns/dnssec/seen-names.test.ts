import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameFromText } from '../../protocol/dns/name.ts';
import { SeenNames } from './signer.ts';

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

test('of 10,000 names at least 99.8 % are known in the second pass', () => {
  const seen = new SeenNames();
  const names = Array.from({ length: 10_000 }, (_, i) => nameFromText(`get.r${i}.bench.v1.uqrp.net`)!);
  for (const name of names) seen.again(name);
  const known = names.filter((name) => seen.again(name)).length;
  assert.ok(known >= 9_980, `${known} are known`);
});
