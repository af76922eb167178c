import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOrderedUuid } from './uuid.ts';

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('ids are UUIDv7 and ascend with time', () => {
  const first = timeOrderedUuid(Date.UTC(2026, 0, 1));
  const second = timeOrderedUuid(Date.UTC(2026, 0, 1) + 1);
  assert.match(first, FORM);
  assert.ok(first < second);
  assert.notEqual(timeOrderedUuid(0), timeOrderedUuid(0));
  assert.match(timeOrderedUuid(0), /^00000000-0000-7/);
  // RFC 9562 appendix A.6: 2022-02-22 14:22:22.00 GMT-05:00.
  assert.match(timeOrderedUuid(0x017f22e279b0), /^017f22e2-79b0-7/);
});
