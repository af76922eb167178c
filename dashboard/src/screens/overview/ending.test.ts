import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endingSoon } from './ending.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');

function token(name: string, at: string | null) {
  return { kind: 'token', name, at, path: '/' } as const;
}

describe('what ends soon', () => {
  it('is what ends within seven days, the soonest first', () => {
    const found = endingSoon(
      [
        token('in a week', '2026-11-29T12:00:00Z'),
        token('later', '2026-11-29T12:00:01Z'),
        token('over', '2026-11-22T12:00:00Z'),
        token('tomorrow', '2026-11-23T12:00:00Z'),
        token('never', null),
      ],
      NOW,
    );
    assert.deepEqual(
      found.map(({ name }) => name),
      ['tomorrow', 'in a week'],
    );
  });
});
