import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forBrowsers, inUrl } from './address.ts';

test('people are sent to localhost where the server is on this machine: browsers refuse passkeys at an address', () => {
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::']) assert.equal(forBrowsers(host), 'localhost');
  assert.equal(forBrowsers('192.0.2.1'), '192.0.2.1');
  assert.equal(inUrl(forBrowsers('2001:db8::1')), '[2001:db8::1]');
});
