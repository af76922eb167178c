/** The view of an edge at the head of its source: what is done after each commit, and what the edge tells of its view. */
import type { Clock } from '../../base/time.ts';
import { type Follower, type FollowerOptions, startFollower } from '../../feed/follower/follower.ts';
import { createAppliedTimes } from '../../feed/follower/health.ts';
import type { NodeState } from '../../feed/nodes/node-states.ts';
import type { Change } from '../../protocol/change.ts';
import { announcedApply, type FreshnessCounters } from '../../view/freshness.ts';

/** What the view's part of a node's state is. */
type ViewReport = Pick<NodeState, 'seq' | 'seqSeconds' | 'epoch' | 'lag' | 'stale' | 'viewSeconds'>;

interface FollowedView {
  /** Null: the edge has no source, and its view is empty. */
  readonly follower: Follower | null;
  /** Resolves when there is a view to answer from. */
  readonly hasView: Promise<void>;
  /** When the view got a change, milliseconds since the epoch; null: not known. */
  appliedAt(seq: number): number | null;
  report(): ViewReport;
}

interface FollowedViewOptions
  extends Pick<FollowerOptions, 'view' | 'acceptNewStore' | 'onState' | 'onFailing' | 'timers'> {
  readonly source: FollowerOptions['source'] | null;
  readonly freshness: Pick<FreshnessCounters, 'begin'>;
  readonly clock: Clock;
  /** Called after a commit, when readers see it. Must not throw. */
  readonly onApplied: (changes: readonly Change[]) => void;
}

export function followView(options: FollowedViewOptions): FollowedView {
  const { source, view, freshness, clock, onApplied, onState } = options;
  const hasView = Promise.withResolvers<void>();
  const applied = createAppliedTimes(clock, view.cursor() ?? 0);
  let isBuilding = view.cursor() === null;
  let builtAt: number | null = null;
  const follower =
    source === null
      ? null
      : startFollower({
          ...options,
          source,
          view: { ...view, apply: announcedApply(view, freshness) },
          onApplied(changes, cursor) {
            applied.note(cursor);
            onApplied(changes);
            hasView.resolve();
          },
          onState(state, seq) {
            if (state === 'rebuilding') isBuilding = true;
            if (state === 'following' && isBuilding) {
              isBuilding = false;
              builtAt = clock();
            }
            onState?.(state, seq);
          },
        });
  return {
    follower,
    hasView: hasView.promise,
    appliedAt: (seq) => applied.at(seq),
    report() {
      const { seq, seconds } = follower?.lag() ?? { seq: 0, seconds: 0 };
      const cursor = view.cursor() ?? 0;
      const appliedAt = applied.at(cursor);
      return {
        seq: cursor,
        seqSeconds: appliedAt === null ? null : Math.max(0, clock() - appliedAt) / 1000,
        epoch: view.epoch(),
        lag: { changes: seq, seconds },
        stale: follower?.isStale() ?? true,
        viewSeconds: builtAt === null ? null : Math.max(0, clock() - builtAt) / 1000,
      };
    },
  };
}
