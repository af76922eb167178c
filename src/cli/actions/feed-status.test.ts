import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { NodeState } from '../../feed/nodes/node-states.ts';
import { isBehind } from './feed.ts';

it('node status fails for a node that is stale and lacks changes, as on a full disk, and not for one that just started (operator finding 6)', () => {
  const node = (stale: boolean, changes: number) => ({
    state: { stale, lag: { changes, seconds: changes } } as NodeState,
  });
  assert.equal(isBehind(node(true, 1900)), true);
  assert.equal(isBehind(node(true, 0)), false);
  assert.equal(isBehind(node(false, 3)), false);
  assert.equal(isBehind({ state: null }), false);
});
