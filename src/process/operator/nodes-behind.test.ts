import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputError } from '../../base/errors.ts';
import type { RolloverOutcome } from '../../dns/dnssec/rollover.ts';
import type { NodeState } from '../../feed/nodes/node-states.ts';
import { refuseWhileBehind } from './signing-keys.ts';

const ZONE = 'uqrp.net';
const switching: RolloverOutcome = { kind: 'advanced', step: 'switch', keyTag: 7, next: null };
const report = (name: string, tags: readonly number[] | null, late = false) => ({
  name,
  late,
  state: tags === null ? null : ({ readyTags: { [ZONE]: tags } } as unknown as NodeState),
});

describe('a rollover with nodes', () => {
  it('lets a key sign once it is ready on every node', async () => {
    await refuseWhileBehind(ZONE, switching, async () => [report('fra1', [1, 7]), report('ams1', [7])]);
    await refuseWhileBehind(ZONE, switching, async () => []);
  });

  it('refuses with the names of the nodes that are behind, late, or were not heard of', async () => {
    const ask = async () => [
      report('fra1', [1, 7]),
      report('ams1', [1]),
      report('nyc1', [1, 7], true),
      report('sin1', null),
    ];
    await assert.rejects(refuseWhileBehind(ZONE, switching, ask), (error) => {
      assert.ok(error instanceof InputError);
      assert.match(error.message, /Key 7 of uqrp\.net .* Behind: ams1, nyc1 \(late\), sin1\./);
      return true;
    });
    await assert.rejects(refuseWhileBehind('uqrp.org', switching, ask), /Behind: fra1, ams1/);
  });

  it('asks nobody for a step that changes no signature', async () => {
    const others: RolloverOutcome[] = [
      { kind: 'advanced', step: 'publish', keyTag: 7, next: null },
      { kind: 'advanced', step: 'remove', keyTag: 7, next: null },
      { kind: 'wait', next: { step: 'switch', keyTag: 7, at: 0, confirm: null } },
    ];
    for (const outcome of others) await refuseWhileBehind(ZONE, outcome, assert.fail);
  });
});
