import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { operatorOrigins, PUBLIC_ONLY, WEBHOOK_TARGETS } from './target.ts';

describe('a target policy', () => {
  it('allows only TLS and public addresses to others', () => {
    const table: readonly [string, boolean][] = [
      ['https://example.com/', true],
      ['http://example.com/', false],
      ['https://user@example.com/', false],
      ['https://:secret@example.com/', false],
      ['ftp://example.com/', false],
    ];
    for (const [url, allowed] of table) assert.equal(PUBLIC_ONLY.allows(new URL(url)), allowed, url);
    assert.equal(PUBLIC_ONLY.admits(new URL('https://example.com'), '127.0.0.1'), false);
    assert.equal(PUBLIC_ONLY.admits(new URL('https://example.com'), '1.1.1.1'), true);
  });

  it('checks the rules of registration again for the URL of a webhook', () => {
    const table: readonly [string, boolean][] = [
      ['https://hooks.example.com/', true],
      ['https://8.8.8.8:8443/x', true],
      ['http://hooks.example.com/', false],
      ['https://user@hooks.example.com/', false],
      ['https://hooks.example.com/#x', false],
      ['https://hooks.example.com:25/', false],
      ['https://10.0.0.1/', false],
      ['https://localhost/', false],
      ['https://metadata.google.internal/', false],
    ];
    for (const [url, allowed] of table) assert.equal(WEBHOOK_TARGETS.allows(new URL(url)), allowed, url);
    const url = new URL('https://hooks.example.com/');
    assert.equal(WEBHOOK_TARGETS.admits(url, '8.8.8.8'), true);
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:8.8.8.8', 'localhost', '']) {
      assert.equal(WEBHOOK_TARGETS.admits(url, address), false, address);
    }
  });

  it('allows exactly the origins that the operator configured', () => {
    const policy = operatorOrigins(['http://10.0.0.5:9000/base/']);
    const table: readonly [string, string, boolean][] = [
      ['http://10.0.0.5:9000/anything?q=1', '10.0.0.5', true],
      ['http://10.0.0.5:9001/', '10.0.0.5', false],
      ['https://10.0.0.5:9000/', '10.0.0.5', false],
      ['https://example.com/', '1.1.1.1', true],
      ['https://example.com/', '10.0.0.5', false],
      ['http://example.com/', '1.1.1.1', false],
    ];
    for (const [text, address, expected] of table) {
      const url = new URL(text);
      assert.equal(policy.allows(url) && policy.admits(url, address), expected, text);
    }
  });
});
