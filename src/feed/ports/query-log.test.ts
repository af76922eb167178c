import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, keyOfAny, nameOf, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { createMemoryQueryLog } from '../../../test/support/feed/memory-query-log.ts';
import { createMemoryUsage } from '../../../test/support/feed/memory-usage.ts';
import { queryLogSuite } from '../../../test/support/feed/ports/query-log-suite.ts';
import { busQueryLogSink, startMeter } from '../nodes/meter.ts';
import { type LoggedLabel, loggedLabel, type QueryLogRow } from './query-log.ts';

queryLogSuite('memory', async () => {
  const log = createMemoryQueryLog();
  return {
    namespaceIds: ['018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000002'],
    now: Date.UTC(2026, 0, 2),
    open: async () => log,
    rows: async () => log.rows(),
    dropped: async (namespaceId) => log.dropped(namespaceId),
    async close() {},
  };
});

queryLogSuite('over the bus', async () => {
  const log = createMemoryQueryLog();
  const bus = createMemoryBroker();
  const end = controlEnd(bus.connect(), { verifierOf: keyOfAny });
  startMeter({ end, usage: createMemoryUsage(), queryLog: log, existing: async () => new Set() });
  return {
    namespaceIds: ['018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000002'],
    now: Date.UTC(2026, 0, 2),
    open: async () => ({
      add: (batch) => busQueryLogSink(nodeEnd(bus.connect(), nameOf(batch.node))).add(batch),
    }),
    rows: async () => log.rows(),
    dropped: async (namespaceId) => log.dropped(namespaceId),
    async close() {},
  };
});

test('a logged label is one label, and never one that could carry a token', () => {
  for (const text of ['temp', 'v1', 'a', '9', 'a-b', 'author', 'x'.repeat(63)]) {
    assert.equal(loggedLabel(text), text);
  }
  const token = `auth-svcq${'0'.repeat(52)}`;
  for (const text of ['', 'a.b', `${token}.temp`, token, 'Temp', 'a b', '-a', '192.0.2.1', 'x'.repeat(64)]) {
    assert.equal(loggedLabel(text), null, text);
  }
});

test('a name, a token or an address cannot be put into a row: the compiler says so', () => {
  const resource: LoggedLabel = loggedLabel('temp')!;
  // @ts-expect-error plain text is not a label that may be logged
  const wrong: LoggedLabel = 'get.temp.acme.v1';
  // @ts-expect-error a row has no member for an address
  const parts: Partial<QueryLogRow> = { resource, address: '192.0.2.1' };
  assert.ok(wrong && parts);
});
