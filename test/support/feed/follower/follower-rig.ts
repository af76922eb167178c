import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Follower,
  type FollowerOptions,
  type FollowerState,
  startFollower,
} from '../../../../src/feed/follower/follower.ts';
import type { FeedFault } from '../../../../src/feed/follower/health.ts';
import { createMemoryView, type MemoryFiles, type MemoryView } from '../../view/memory-view.ts';
import { createFakeSource, type FakeSource } from '../fake-source.ts';

/** Milliseconds, longer than any test: an effect within the test does not come from polling. */
const NEVER = 600_000;

/** A follower between a source and a view of the test, and its reports. */
export interface Rig {
  readonly source: FakeSource;
  readonly view: MemoryView;
  /** What the view may adopt. */
  readonly files: MemoryFiles;
  follower: Follower | null;
  /** The clock's time, milliseconds. */
  now: number;
  states: FollowerState[];
  /** Reported faults, in order. */
  readonly faults: FeedFault[];
  /** `seq` of the changes that were announced. */
  readonly applied: number[];
  readonly start: (options?: Partial<FollowerOptions>) => Follower;
  /** Waits for the condition; the test runner's limit ends a wait in vain. */
  readonly until: (condition: () => boolean) => Promise<void>;
  readonly caughtUp: () => boolean;
  readonly assertSame: () => void;
  readonly stop: () => Promise<void>;
}

export function createRig(): Rig {
  const source = createFakeSource(2, () => rig.now);
  const files: MemoryFiles = new Map();
  const view = createMemoryView(undefined, files);
  const rig: Rig = {
    source,
    view,
    files,
    follower: null,
    now: 50_000,
    states: [],
    faults: [],
    applied: [],
    start(options = {}) {
      rig.follower = startFollower({
        source,
        view,
        clock: () => rig.now,
        pollMs: NEVER,
        onState: (state) => rig.states.push(state),
        onFailing: (fault) => rig.faults.push(fault),
        onApplied: (changes) => rig.applied.push(...changes.map(({ seq }) => seq)),
        ...options,
      });
      return rig.follower;
    },
    async until(condition) {
      while (!condition()) await nextTurn();
    },
    caughtUp: () => view.state.cursor === source.state().cursor,
    assertSame: () => assert.deepEqual(view.state, source.state()),
    async stop() {
      source.before = () => undefined;
      await rig.follower?.stop();
    },
  };
  return rig;
}
