import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseQueryName } from './query-name.ts';

function rows(file: string): (readonly [string, string])[] {
  return readFileSync(new URL(`../../../test/fixtures/${file}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' | ') as [string, string]);
}

test('valid query names parse to their parts', () => {
  for (const [name, expected] of rows('query-names.valid.txt')) {
    const parsed = parseQueryName(name);
    assert.equal(parsed.kind, 'query', name);
    if (parsed.kind !== 'query') continue;
    const { operation, token, params, resource, namespace, version, key } = parsed.query;
    const shown = [operation, token ?? '-', params.join('.') || '-', resource, namespace, version].join(' ');
    assert.equal(shown, expected, name);
    assert.equal(
      key,
      [...params, resource, namespace, version].join('.'),
      'operation and token stay out of the key',
    );
  }
});

test('malformed query names say why', () => {
  for (const [name, code] of rows('query-names.invalid.txt')) {
    assert.deepEqual(parseQueryName(name), { kind: 'malformed', code }, name);
  }
});

test('fewer than four labels are short, whatever they are', () => {
  for (const name of ['', 'v1', 'acme.v1', 'temp.acme.v1', 'a.b.c', '_x.-.y', 'auth-x.acme.v1']) {
    assert.deepEqual(parseQueryName(name), { kind: 'short' }, name);
  }
});

test('labels of 63 octets pass and of 64 do not', () => {
  for (const [length, kind] of [
    [63, 'query'],
    [64, 'malformed'],
  ] as const) {
    const label = 'a'.repeat(length);
    assert.equal(parseQueryName(`get.${label}.acme.v1`).kind, kind);
    assert.equal(parseQueryName(`get.${label}.temp.acme.v1`).kind, kind);
    assert.equal(parseQueryName(`get.temp.acme.v${'1'.repeat(length - 1)}`).kind, kind);
  }
});

const label = fc
  .stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/)
  .filter((text) => !text.startsWith('auth-'));

test('every name made by the grammar parses, and its parts make the name again', () => {
  const name = fc.record({
    token: fc.option(fc.stringMatching(/^[0-9a-v]{52}$/).map((text) => `svcq${text}`)),
    params: fc.array(label, { maxLength: 4 }),
    resource: label,
    namespace: label,
    version: fc.integer({ min: 1 }).map((n) => `v${n}`),
  });
  fc.assert(
    fc.property(name, ({ token, params, resource, namespace, version }) => {
      const key = [...params, resource, namespace, version].join('.');
      const auth = token === null ? '' : `auth-${token}.`;
      assert.deepEqual(parseQueryName(`get.${auth}${key}`), {
        kind: 'query',
        query: { operation: 'get', token, params, resource, namespace, version, key },
      });
    }),
  );
});

test('arbitrary text never throws', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseQueryName(text);
    }),
  );
});
