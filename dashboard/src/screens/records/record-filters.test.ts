import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filterCount, filterTexts, isGoodFilter, keepsKey, recordFilter } from './record-filters.ts';

describe('filters of records', () => {
  it('are read from the address', () => {
    const query = new URLSearchParams(
      'namespace=acme&search=%20Eu.Config&ttl_min=60&created_after=2026-01-01T00:00Z&x=1',
    );
    const texts = filterTexts(query);
    assert.equal(filterCount(texts), 4);
    assert.deepEqual(recordFilter(texts), {
      namespace: 'acme',
      q: 'eu.config',
      ttl_min: 60,
      created_after: '2026-01-01T00:00:00.000Z',
    });
    assert.deepEqual(recordFilter(filterTexts(new URLSearchParams())), {});
  });

  it('leave out what is no number and no time', () => {
    const texts = filterTexts(new URLSearchParams('ttl_min=x&ttl_max=99999999999&created_before=soon'));
    assert.deepEqual(recordFilter(texts), {});
    assert.ok(
      !isGoodFilter('ttlMin', 'x') &&
        !isGoodFilter('ttlMax', '2147483648') &&
        !isGoodFilter('before', 'soon'),
    );
    assert.ok(isGoodFilter('ttlMax', '2147483647') && isGoodFilter('after', ''));
    const search = filterTexts(new URLSearchParams('search=a_b'));
    assert.deepEqual([recordFilter(search), isGoodFilter('search', 'a_b')], [{}, false]);
  });

  it('tell whether a new record belongs into the list', () => {
    const keeps = (filter: object): boolean => keepsKey(filter, 'eu.config.acme.v1', 'acme', 'config');
    assert.ok(
      keeps({}) &&
        keeps({ namespace: 'ACME', resource: 'config', q: 'eu.' }) &&
        keeps({ q: 'config' }) &&
        keeps({ q: 'acme' }),
    );
    assert.ok(!keeps({ namespace: 'other' }) && !keeps({ resource: 'flags' }) && !keeps({ q: 'us' }));
  });
});
