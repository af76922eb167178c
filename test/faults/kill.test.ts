import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killRepeatedly } from './kill.ts';

test('three kills in the middle of writes lose nothing that was acknowledged', async () => {
  const report = await killRepeatedly(3, 7);
  assert.ok(report.acknowledged >= report.kills);
  assert.ok(report.checked > 10);
});
