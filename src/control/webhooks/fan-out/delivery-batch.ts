import type { Change } from '../../../core/change.ts';
import { LIMITS } from '../../../core/limits.ts';
import { TIERS } from '../../../core/tiers.ts';
import type { WebhookEvent } from '../../../core/webhooks.ts';
import type { WebhookDeliveriesTable } from '../../store/schema.ts';
import type { TargetRow } from '../../store/webhooks/fan-out.ts';
import { roomFor } from '../delivery/hourly-attempts.ts';
import { type CustomerEvent, deliveryBody, eventOf } from './events.ts';

/** What is enqueued at most. The last three are the product's limits. */
export interface FanoutBounds {
  /** Deliveries that one unit of work writes, and bytes of bodies in them; a single change may pass either. */
  readonly rows: number;
  readonly bytes: number;
  /** Bytes of one body. */
  readonly body: number;
  /** Deliveries of one webhook that wait. */
  readonly waiting: number;
  /** Dropped deliveries of one webhook that an hour keeps. */
  readonly droppedKept: number;
}

export const FANOUT_BOUNDS: FanoutBounds = {
  rows: 1000,
  bytes: 2_000_000,
  body: LIMITS.webhookBody,
  waiting: LIMITS.webhookPending,
  droppedKept: LIMITS.webhookDroppedKept,
};

/** An enabled webhook and what it wants to be told of. */
interface Target {
  readonly id: string;
  readonly events: ReadonlySet<WebhookEvent>;
  /** Empty: all namespaces. */
  readonly namespaces: ReadonlySet<string>;
  readonly startsAfter: number;
  /** Whether it may be sent anything just now: after `LIMITS.webhookAttemptsPerHour` attempts all that is due is dropped. */
  readonly isOpen: boolean;
}

/** What became of the events that a unit of work saw. */
export interface Enqueued {
  /** Events that were given a number. */
  readonly events: number;
  /** Deliveries that wait to be attempted now. */
  readonly waiting: number;
  /** Deliveries that were dropped and stand in the history, and further ones that do not. */
  readonly dropped: number;
  readonly unwritten: number;
}

export interface PlanOptions {
  /** When deliveries are made and when they fall due, milliseconds since the epoch. */
  readonly at: number;
  readonly dueAt: number;
  readonly newId: () => string;
  readonly bounds: FanoutBounds;
  /** All enabled webhooks of the owners. */
  readonly targets: readonly TargetRow[];
  /** Deliveries of each webhook that wait; no entry for none. */
  readonly waiting: ReadonlyMap<string, number>;
  /** The last number given to an event of each owner. */
  readonly numbers: ReadonlyMap<string, number>;
  /** How many more dropped deliveries the webhook's history takes. Asked at most once for each. */
  readonly droppedRoom: (webhookId: string) => Promise<number>;
}

/** A delivery for one target. A dropped one without a place in the history is only counted. */
interface Verdict {
  readonly target: Target;
  readonly error: 'payload_too_large' | 'rate_limited' | null;
  readonly body: Uint8Array | null;
  readonly isWritten: boolean;
}

/** What one unit of work enqueues, change by change, until it is full. Writes nothing. */
export class FanoutPlan {
  readonly rows: WebhookDeliveriesTable[] = [];
  /** The last numbers of customers whose events were given one here. */
  readonly numbers = new Map<string, number>();
  /** Webhooks that have something more to attempt. */
  readonly due = new Set<string>();
  /** Dropped deliveries among the rows, of each webhook that has any. */
  readonly dropped = new Map<string, number>();
  readonly #options: PlanOptions;
  readonly #targets: ReadonlyMap<string, readonly Target[]>;
  readonly #waiting: Map<string, number>;
  readonly #droppedRoom = new Map<string, number>();
  #bytes = 0;
  #events = 0;
  #unwritten = 0;

  constructor(options: PlanOptions) {
    this.#options = options;
    this.#targets = byOwner(options.targets, options.dueAt);
    this.#waiting = new Map(options.waiting);
  }

  get counts(): Enqueued {
    const dropped = [...this.dropped.values()].reduce((sum, rows) => sum + rows, 0);
    const waiting = this.rows.length - dropped;
    return { events: this.#events, waiting, dropped, unwritten: this.#unwritten };
  }

  /** @returns false, with nothing changed, when there is no room for the change any more */
  async take(change: Change): Promise<boolean> {
    const event = eventOf(change);
    const { owner } = change;
    if (event === null || owner === null) return true;
    const targets = this.#targets.get(owner);
    const last = this.numbers.get(owner) ?? this.#options.numbers.get(owner);
    if (targets === undefined || last === undefined) return true;
    const seq = last + 1;
    const wanting = targets.filter((target) => admits(target, event.event, change));
    const verdicts = await this.#judge(event, seq, change.at, wanting);
    const written = verdicts.filter((verdict) => verdict.isWritten);
    const bytes = written.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    const { bounds } = this.#options;
    const isOver = this.rows.length + written.length > bounds.rows || this.#bytes + bytes > bounds.bytes;
    if (isOver && this.rows.length > 0) return false;
    this.numbers.set(owner, seq);
    this.#events++;
    this.#bytes += bytes;
    for (const verdict of verdicts) this.#add(event.event, seq, verdict);
    return true;
  }

  /** The body is made once, for all who are sent it. */
  async #judge(
    event: CustomerEvent,
    seq: number,
    at: number,
    targets: readonly Target[],
  ): Promise<Verdict[]> {
    const { bounds } = this.#options;
    const verdicts: Verdict[] = [];
    let body: Uint8Array | null = null;
    for (const target of targets) {
      const hasRoom = target.isOpen && (this.#waiting.get(target.id) ?? 0) < bounds.waiting;
      if (hasRoom) body ??= deliveryBody(event, seq, at);
      if (hasRoom && body !== null && body.length <= bounds.body) {
        verdicts.push({ target, error: null, body, isWritten: true });
      } else {
        const error = hasRoom ? 'payload_too_large' : 'rate_limited';
        verdicts.push({ target, error, body: null, isWritten: (await this.#dropRoom(target.id)) > 0 });
      }
    }
    return verdicts;
  }

  async #dropRoom(id: string): Promise<number> {
    const known = this.#droppedRoom.get(id);
    if (known !== undefined) return known;
    const room = await this.#options.droppedRoom(id);
    this.#droppedRoom.set(id, room);
    return room;
  }

  #add(event: WebhookEvent, seq: number, { target: { id }, error, body, isWritten }: Verdict): void {
    if (!isWritten) {
      this.#unwritten++;
      return;
    }
    const { at, dueAt, newId } = this.#options;
    if (error === null) {
      this.#waiting.set(id, (this.#waiting.get(id) ?? 0) + 1);
      this.due.add(id);
    } else {
      this.#droppedRoom.set(id, (this.#droppedRoom.get(id) ?? 0) - 1);
      this.dropped.set(id, (this.dropped.get(id) ?? 0) + 1);
    }
    this.rows.push({
      id: newId(),
      webhook_id: id,
      event,
      seq,
      status: error === null ? 'pending' : 'dropped',
      response_code: null,
      error,
      attempts: 0,
      duration_ms: null,
      created_at: at,
      last_attempt_at: null,
      next_attempt_at: error === null ? dueAt : null,
      body,
    });
  }
}

/** A tier without webhooks has none that are told of anything. Its owner's events still count. */
function byOwner(rows: readonly TargetRow[], dueAt: number): Map<string, Target[]> {
  const owners = new Map<string, Target[]>();
  for (const row of rows) {
    const targets = owners.get(row.user_id) ?? [];
    owners.set(row.user_id, targets);
    if (TIERS[row.tier].webhooks === 0) continue;
    targets.push({
      id: row.id,
      events: new Set(JSON.parse(row.events) as WebhookEvent[]),
      namespaces: new Set(JSON.parse(row.namespaces) as string[]),
      startsAfter: row.starts_after,
      isOpen: roomFor(row.attempt_minutes, dueAt),
    });
  }
  return owners;
}

function admits(target: Target, event: WebhookEvent, { seq, namespace }: Change): boolean {
  const { events, namespaces, startsAfter } = target;
  return startsAfter < seq && events.has(event) && (namespaces.size === 0 || namespaces.has(namespace));
}
