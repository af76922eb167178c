import assert from 'node:assert/strict';
import { it } from 'node:test';
import { killWitness } from './witness-kill.ts';

it('a witness that is killed at any moment cosigns one history', async () => {
  const report = await killWitness(4, Math.random);
  assert.ok(report.cosigned > 0);
});
