import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextPage } from './next-page.ts';

const ORIGIN = 'https://uqrp.example.net';

describe('the page after sign-in', () => {
  it('is the one that was wanted, with its query', () => {
    assert.equal(nextPage('/records?namespace=acme', ORIGIN), '/records?namespace=acme');
  });

  it('is the overview for anything else', () => {
    for (const wanted of [
      null,
      '',
      'records',
      'https://evil.example/',
      '//evil.example/x',
      '/\\evil.example',
      '/sign-in?next=/',
      'javascript:alert(1)',
      '/\t/evil.example',
    ])
      assert.equal(nextPage(wanted, ORIGIN), '/', String(wanted));
  });
});
