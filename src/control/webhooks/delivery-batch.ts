import { LIMITS, TIERS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import type { WebhookEvent } from '../../protocol/webhooks.ts';
import type { WebhookDeliveriesTable } from '../../store/webhooks/deliveries.ts';
import type { TargetRow } from '../../store/webhooks/fan-out.ts';
import { type CustomerEvent, deliveryBody, eventOf } from './events.ts';
import { mayAttempt } from './hourly-attempts.ts';

/** Deliveries of one customer in a unit of work, and octets of their bodies. The first change of a customer may exceed both. */
export interface Share {
  readonly rows: number;
  readonly bytes: number;
}

/** Bounds of one unit of work, and limits of the product (the last three). */
export interface FanOutLimits {
  /** Deliveries that one unit of work writes, and octets of their bodies. A single change may exceed both. */
  readonly rows: number;
  readonly bytes: number;
  readonly body: number;
  readonly waiting: number;
  /** Dropped deliveries of one webhook that its history keeps for one hour. */
  readonly droppedKept: number;
}

export const FAN_OUT_LIMITS: FanOutLimits = {
  rows: 1000,
  bytes: 2_000_000,
  body: LIMITS.webhookBody,
  waiting: LIMITS.webhookPending,
  droppedKept: LIMITS.webhookDroppedKept,
};

interface Target {
  readonly id: string;
  readonly events: ReadonlySet<WebhookEvent>;
  /** Empty: all namespaces. */
  readonly namespaces: ReadonlySet<string>;
  readonly startsAfter: number;
  /** False after `LIMITS.webhookAttemptsPerHour` attempts: due deliveries are then dropped. */
  readonly mayAttempt: boolean;
}

export interface EnqueuedCounts {
  readonly events: number;
  readonly waiting: number;
  /** Dropped deliveries: those in the history, and those that are only counted. */
  readonly dropped: number;
  readonly unwritten: number;
}

interface BatchOptions {
  /** Creation and due time, milliseconds since the epoch. */
  readonly at: number;
  readonly dueAt: number;
  readonly newId: () => string;
  readonly limits: FanOutLimits;
  /** Above it a customer falls behind. Null: one customer may fill the unit. */
  readonly share: Share | null;
  readonly targets: readonly TargetRow[];
  readonly waiting: ReadonlyMap<string, number>;
  /** The last number given to an event of each owner. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Dropped deliveries that the history can still take. Called at most once for each webhook. */
  readonly droppedCapacity: (webhookId: string) => Promise<number>;
}

/** A delivery for one target. A dropped one for which the history has no capacity is only counted. */
interface DraftDelivery {
  readonly target: Target;
  readonly error: 'payload_too_large' | 'rate_limited' | null;
  readonly body: Uint8Array | null;
  readonly isWritten: boolean;
}

/** Collects the rows that one unit of work enqueues. Writes nothing itself. */
export class DeliveryBatch {
  readonly rows: WebhookDeliveriesTable[] = [];
  readonly numbers = new Map<string, number>();
  readonly due = new Set<string>();
  readonly dropped = new Map<string, number>();
  /** Customers with more changes than their share: the `seq` of the log up to which the batch has theirs. */
  readonly behind = new Map<string, number>();
  readonly #shares = new Map<string, Share>();
  readonly #options: BatchOptions;
  readonly #targets: ReadonlyMap<string, readonly Target[]>;
  readonly #waiting: Map<string, number>;
  readonly #droppedCapacity = new Map<string, number>();
  #bytes = 0;
  #events = 0;
  #unwritten = 0;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#targets = targetsByOwner(options.targets, options.dueAt);
    this.#waiting = new Map(options.waiting);
  }

  get counts(): EnqueuedCounts {
    const dropped = [...this.dropped.values()].reduce((sum, rows) => sum + rows, 0);
    const waiting = this.rows.length - dropped;
    return { events: this.#events, waiting, dropped, unwritten: this.#unwritten };
  }

  /** Adds the deliveries of one change, unless its customer is behind. @returns false, with nothing added, when the batch is full */
  async add(change: Change): Promise<boolean> {
    const event = eventOf(change);
    const { owner } = change;
    if (event === null || owner === null || this.behind.has(owner)) return true;
    const targets = this.#targets.get(owner);
    const last = this.numbers.get(owner) ?? this.#options.numbers.get(owner);
    if (targets === undefined || last === undefined) return true;
    const seq = last + 1;
    const wanting = targets.filter((target) => admits(target, event.event, change));
    const drafts = await this.#draft(event, seq, change.at, wanting);
    const written = drafts.filter((draft) => draft.isWritten);
    const bytes = written.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
    const { limits, share } = this.#options;
    const taken = this.#shares.get(owner) ?? { rows: 0, bytes: 0 };
    const shared = { rows: taken.rows + written.length, bytes: taken.bytes + bytes };
    if (share !== null && taken.rows > 0 && (shared.rows > share.rows || shared.bytes > share.bytes)) {
      this.behind.set(owner, change.seq - 1);
      return true;
    }
    const isFull = this.rows.length + written.length > limits.rows || this.#bytes + bytes > limits.bytes;
    if (isFull && this.rows.length > 0) return false;
    this.#shares.set(owner, shared);
    this.numbers.set(owner, seq);
    this.#events++;
    this.#bytes += bytes;
    for (const draft of drafts) this.#addDraft(event.event, seq, draft);
    return true;
  }

  async #draft(
    event: CustomerEvent,
    seq: number,
    at: number,
    targets: readonly Target[],
  ): Promise<DraftDelivery[]> {
    const { limits } = this.#options;
    const drafts: DraftDelivery[] = [];
    let body: Uint8Array | null = null;
    for (const target of targets) {
      const mayWait = target.mayAttempt && (this.#waiting.get(target.id) ?? 0) < limits.waiting;
      if (mayWait) body ??= deliveryBody(event, seq, at);
      if (mayWait && body !== null && body.length <= limits.body) {
        drafts.push({ target, error: null, body, isWritten: true });
      } else {
        const error = mayWait ? 'payload_too_large' : 'rate_limited';
        const isWritten = (await this.#droppedCapacityOf(target.id)) > 0;
        drafts.push({ target, error, body: null, isWritten });
      }
    }
    return drafts;
  }

  async #droppedCapacityOf(id: string): Promise<number> {
    const known = this.#droppedCapacity.get(id);
    if (known !== undefined) return known;
    const capacity = await this.#options.droppedCapacity(id);
    this.#droppedCapacity.set(id, capacity);
    return capacity;
  }

  #addDraft(
    event: WebhookEvent,
    seq: number,
    { target: { id }, error, body, isWritten }: DraftDelivery,
  ): void {
    if (!isWritten) {
      this.#unwritten++;
      return;
    }
    const { at, dueAt, newId } = this.#options;
    if (error === null) {
      this.#waiting.set(id, (this.#waiting.get(id) ?? 0) + 1);
      this.due.add(id);
    } else {
      this.#droppedCapacity.set(id, (this.#droppedCapacity.get(id) ?? 0) - 1);
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

/** An owner whose tier has no webhooks gets an empty list: events get numbers, but no deliveries. */
function targetsByOwner(rows: readonly TargetRow[], dueAt: number): Map<string, Target[]> {
  const owners = new Map<string, Target[]>();
  for (const row of rows) {
    const targets = owners.get(row.customer_id) ?? [];
    owners.set(row.customer_id, targets);
    if (TIERS[row.tier].webhooks === 0) continue;
    targets.push({
      id: row.id,
      events: new Set(JSON.parse(row.events) as WebhookEvent[]),
      namespaces: new Set(JSON.parse(row.namespaces) as string[]),
      startsAfter: row.starts_after,
      mayAttempt: mayAttempt(row.attempt_minutes, dueAt),
    });
  }
  return owners;
}

function admits(target: Target, event: WebhookEvent, { seq, namespace }: Change): boolean {
  const { events, namespaces, startsAfter } = target;
  return startsAfter < seq && events.has(event) && (namespaces.size === 0 || namespaces.has(namespace));
}
