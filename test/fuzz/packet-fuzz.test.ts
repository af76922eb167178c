import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzPackets } from './packet-fuzz.ts';

test('mutated packets never throw, and every reply decodes', async () => {
  const report = await fuzzPackets(20_000, 1);
  assert.ok(report.answered > report.packets / 2);
  assert.ok(report.fromCache > 1000);
});
