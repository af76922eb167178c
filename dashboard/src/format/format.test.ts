import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytes, count, localeOf, milliseconds, percent, relative, shortCount } from './format.ts';

describe('the formatter', () => {
  it('counts', () => {
    assert.equal(count(1_234_567), '1,234,567');
    assert.equal(shortCount(12_345), '12.3K');
  });

  it('shows octets exactly as long as they are few', () => {
    assert.equal(bytes(1), '1 byte');
    assert.equal(bytes(2586), '2,586 bytes');
    assert.equal(bytes(9999), '9,999 bytes');
    assert.equal(bytes(10_000), '10 kB');
    assert.equal(bytes(1_250_000), '1.3 MB');
  });

  it('shows durations', () => {
    assert.equal(milliseconds(0.42), '0.4 ms');
    assert.equal(milliseconds(31.4), '31 ms');
    assert.equal(milliseconds(1234), '1.2 sec');
  });

  it('shows shares, and says when a share is small but not nothing', () => {
    assert.equal(percent(0), '0%');
    assert.equal(percent(0.004), '<1%');
    assert.equal(percent(0.42), '42%');
  });

  it('tells times from now', () => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    assert.equal(relative('2026-11-22T12:00:03Z', now), 'now');
    assert.equal(relative('2026-11-22T11:59:20Z', now), '40 sec. ago');
    assert.equal(relative('2026-11-22T09:00:00Z', now), '3 hr. ago');
    assert.equal(relative('2026-11-23T12:00:00Z', now), 'tomorrow');
    assert.equal(relative('2026-11-25T13:00:00Z', now), 'in 3 days');
    assert.equal(relative('2028-11-25T13:00:00Z', now), 'in 2 yr.');
  });

  it('takes the reader’s English, and no other language', () => {
    assert.equal(localeOf(['de-DE', 'en-GB']), 'en-GB');
    assert.equal(localeOf(['de-DE']), 'en');
    assert.equal(localeOf(undefined), 'en');
  });
});
