import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutboundClient } from '../../outbound/outbound-client.ts';
import { coinbase, parseKraken } from '../crypto-prices.ts';
import { finnhub, parseTwelveData } from '../stock-quotes.ts';
import { UNUSABLE } from './source.ts';

const DOWN = { kind: 'failed' };

function answering(status: number, text: string): OutboundClient {
  return async () => ({ kind: 'response', status, headers: {}, body: Buffer.from(text) });
}

/** Only the former open a breaker: anybody may ask for a name of which a source has nothing usable. */
test('which failures are of the source, and which of the name that was asked for', async () => {
  const table = [
    [200, '{"open":"0","last":"0","volume":"0"}', UNUSABLE],
    [400, '', UNUSABLE],
    [404, '', { kind: 'missing' }],
    [200, '<html>maintenance</html>', DOWN],
    [401, '', DOWN],
    [403, '', DOWN],
    [429, '', { kind: 'limited', waitMs: 60_000 }],
    [500, '', DOWN],
    [503, '', DOWN],
  ] as const;
  for (const [status, text, expected] of table) {
    const source = coinbase('https://example.com', { outbound: answering(status, text), agent: 'test' });
    assert.deepEqual(await source.load('DEAD-USD', null, 0), expected, `${status} ${text}`);
  }
  const quotes = finnhub(
    { base: 'https://example.com', key: 'k' },
    { outbound: answering(403, ''), agent: 'test' },
  );
  assert.deepEqual(await quotes.load('VOD.L', null, 0), { kind: 'missing' });
  assert.deepEqual(parseTwelveData({ status: 'error', code: 403 }), UNUSABLE);
  assert.deepEqual(parseTwelveData({ status: 'error', code: 401 }), DOWN);
  const coin = { sym: 'XBT', quote: 'USD' };
  assert.deepEqual(parseKraken({ error: ['EGeneral:Invalid arguments'] }, coin), UNUSABLE);
  assert.deepEqual(parseKraken({ error: ['EService:Unavailable'] }, coin), DOWN);
});
