import type { Fetched, OnCall, Source } from '../sources/source.ts';
import { type Breaker, CLOSED, failedAt, mayCall, succeeded } from './breaker.ts';
import { Budget } from './budget.ts';

/** Concurrent calls to one source. */
const CALLS_MAX = 16;
/** Wait that is reported while all calls are in use, milliseconds. */
const BUSY_MS = 1000;
/** Longest wait that a provider can request, milliseconds. */
const WAIT_MAX_MS = 3_600_000;

/** A source with budget and breaker. A blocked call is `limited`, or `failed` while the breaker is open. */
export class GuardedSource<T> {
  readonly source: Source<T>;
  readonly budget: Budget;
  private breaker: Breaker = CLOSED;
  private blockedUntil = 0;
  private calls = 0;
  private probing = false;
  private readonly onCall: OnCall;

  constructor(source: Source<T>, now: number, onCall: OnCall) {
    this.source = source;
    this.onCall = onCall;
    this.budget = new Budget(source.limits, now);
  }

  /** Calls the source if budget and breaker allow it. Never rejects. */
  async load(key: string, validator: string | null, clock: () => number): Promise<Fetched<T>> {
    const now = clock();
    if (now < this.blockedUntil) return { kind: 'limited', waitMs: this.blockedUntil - now };
    if (!mayCall(this.breaker, this.probing, now)) return { kind: 'failed' };
    if (this.calls >= CALLS_MAX) return { kind: 'limited', waitMs: BUSY_MS };
    const waitMs = this.budget.take(now);
    if (waitMs > 0) return { kind: 'limited', waitMs };
    const isProbe = this.breaker !== CLOSED && now >= this.breaker.openUntil;
    if (isProbe) this.probing = true;
    this.calls++;
    const fetched = await this.source.load(key, validator, now).catch((): Fetched<T> => ({ kind: 'failed' }));
    this.calls--;
    if (isProbe) this.probing = false;
    this.note(fetched, clock());
    this.onCall(this.source.name, fetched.kind);
    return fetched;
  }

  private note(fetched: Fetched<T>, now: number): void {
    this.breaker = fetched.kind === 'failed' ? failedAt(this.breaker, now) : succeeded();
    if (fetched.kind === 'limited') this.blockedUntil = now + Math.min(WAIT_MAX_MS, fetched.waitMs);
  }
}
