import {
  ErrorCode,
  type EvaluationContext,
  type JsonValue,
  OpenFeatureEventEmitter,
  type Provider,
  ProviderEvents,
  type ResolutionDetails,
  StandardResolutionReasons,
} from '@openfeature/server-sdk';
import { NotFound, Unreadable } from '../dns/errors.ts';
import { NameError, type NameParts, partsOfKey } from '../dns/name.ts';
import { ReadError } from '../dns/read-error.ts';
import type { Reader } from '../dns/reader.ts';
import { wait } from '../shared/wait.ts';
import { parseHeader } from '../webhooks/signature-header.ts';
import { type SigningSecrets, type VerifyOptions, verifyWebhookAsync } from '../webhooks/verify.ts';
import { type Context, evaluate } from './evaluate.ts';
import type { FlagType, FlagValue } from './flag.ts';
import { eventOfFlag, FlagCache, type FlagState } from './flag-cache.ts';
import { followFlagEvents, isHttpUrl } from './flag-events.ts';

export interface UqrpProviderOptions {
  /** Reads the records, with a query token of the namespace unless that is open. */
  readonly reader: Reader;
  /** Namespace of the flags. A flag `dark-mode` is the record `dark-mode.flags.<namespace>.v1`. */
  readonly namespace: string;
  /** Milliseconds between two reads of a flag that is in use. Default 30,000. */
  readonly refresh?: number | undefined;
  /** Milliseconds without a usable answer after which the provider is stale. Default 300,000. */
  readonly staleAfter?: number | undefined;
  /** Most flags that are kept. Default 1,000. */
  readonly maxFlags?: number | undefined;
  /** Flags to read before the provider is ready. One that does not exist is no error. */
  readonly preload?: readonly string[] | undefined;
  /**
   * Origin of the REST API, such as `https://uqrp.example.net`. Its stream of events, read with the token of the reader, makes the provider
   * read its flags at once when one has changed.
   */
  readonly events?: string | undefined;
  /** Signing secrets of the webhook, for `handleWebhook`. */
  readonly signingSecret?: SigningSecrets | undefined;
}

const REFRESH_MS = 30_000;
const STALE_MS = 300_000;
const FLAGS = 1000;
/** A flag that was not used for so many refreshes is no longer read. */
const IDLE_REFRESHES = 20;
const FAILURE_MS = 5000;
/** After an event: nodes have a change within a second. */
const SETTLE_MS = 1000;
/** Flags that are read at the same time. */
const AT_ONCE = 8;

/** An OpenFeature provider for servers. Flags are records, read over DNS and kept in memory (docs/FLAGS.md). */
export class UqrpProvider implements Provider {
  readonly metadata = { name: 'uqrp' } as const;
  readonly runsOn = 'server' as const;
  readonly events: OpenFeatureEventEmitter = new OpenFeatureEventEmitter();
  readonly #options: UqrpProviderOptions;
  readonly #refresh: number;
  readonly #staleAfter: number;
  readonly #cache: FlagCache;
  /** Flags that could not be read and are not known: until when they are not read again, and why. */
  readonly #failures: Map<string, { readonly until: number; readonly message: string }> = new Map();
  /** Reads under way, by flag. */
  readonly #reading: Map<string, Promise<void>> = new Map();
  #closing: AbortController = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isStale = false;

  constructor(options: UqrpProviderOptions) {
    const { refresh = REFRESH_MS, staleAfter = STALE_MS, maxFlags = FLAGS } = options;
    if (!(refresh > 0 && staleAfter > 0 && maxFlags >= 1)) {
      throw new RangeError('refresh, staleAfter and maxFlags must be positive');
    }
    if (options.events !== undefined && !isHttpUrl(options.events)) {
      throw new TypeError('events must be an http or https URL');
    }
    this.#options = options;
    this.#refresh = refresh;
    this.#staleAfter = staleAfter;
    this.#cache = new FlagCache({ maxFlags, now: Date.now });
  }

  /** Reads the flags of `preload`. Rejects when they cannot be read; OpenFeature then reports PROVIDER_ERROR. */
  async initialize(): Promise<void> {
    this.#closing = new AbortController();
    this.#isStale = false;
    this.#schedule();
    this.#follow();
    try {
      await Promise.all((this.#options.preload ?? []).map((key) => this.#read(key.toLowerCase())));
    } catch (error) {
      // The refreshes go on, and say when the flags can be read.
      this.#isStale = true;
      throw error;
    }
  }

  async onClose(): Promise<void> {
    this.#closing.abort(new Error('The provider is closed'));
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await Promise.allSettled(this.#reading.values());
    // A full disk is no reason not to close.
    await this.#options.reader.flush().catch(() => undefined);
  }

  resolveBooleanEvaluation(
    key: string,
    value: boolean,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<boolean>> {
    return this.#resolve(key, 'boolean', value, context);
  }

  resolveStringEvaluation(
    key: string,
    value: string,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<string>> {
    return this.#resolve(key, 'string', value, context);
  }

  resolveNumberEvaluation(
    key: string,
    value: number,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<number>> {
    return this.#resolve(key, 'number', value, context);
  }

  resolveObjectEvaluation<T extends JsonValue>(
    key: string,
    value: T,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<T>> {
    return this.#resolve(key, 'object', value, context);
  }

  /**
   * Takes a request of the webhook. An event of a flag changes it at once and emits PROVIDER_CONFIGURATION_CHANGED. One that happened before the
   * last read of the flag, such as a late retry, makes the provider read it again.
   * @returns the flag that changed, or null for other events and for those that may be older than what is known
   * @throws WebhookVerificationError: answer 400
   */
  async handleWebhook(
    rawBody: string | Uint8Array,
    header: string | readonly string[] | null | undefined,
    options: VerifyOptions = {},
  ): Promise<string | null> {
    const { signingSecret, namespace } = this.#options;
    if (signingSecret === undefined)
      throw new TypeError('give signingSecret to the provider to take webhooks');
    const payload = await verifyWebhookAsync(rawBody, header, signingSecret, options);
    const event = eventOfFlag(payload, namespace, parseHeader(header).t * 1000);
    if (event === null) return null;
    const { key } = event;
    const taken = this.#cache.changed(event);
    if (taken === 'known') return null;
    // Also of an event that was taken: that DNS shows it ends the time in which the value before counts for nothing.
    this.#soon(() => void this.#read(key).catch(() => undefined));
    if (taken === 'unsure') return null;
    this.#emitChanged([key]);
    return key;
  }

  async #resolve<T>(
    flagKey: string,
    type: FlagType,
    fallback: T,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<T>> {
    const key = flagKey.toLowerCase();
    let found = this.#cache.use(key);
    if (found === null) {
      const failure = this.#failures.get(key);
      if (failure !== undefined && Date.now() < failure.until) {
        return failed(fallback, ErrorCode.GENERAL, failure.message);
      }
      try {
        await this.#read(key);
      } catch (error) {
        if (error instanceof NameError) return failed(fallback, ErrorCode.FLAG_NOT_FOUND, NOT_A_NAME);
        if (!(error instanceof ReadError)) throw error;
        this.#remember(key, error.message);
        return failed(fallback, ErrorCode.GENERAL, error.message);
      }
      found = this.#cache.use(key);
    }
    if (found === null) return failed(fallback, ErrorCode.GENERAL, 'the flag could not be kept');
    const isStale = found.isStale || Date.now() - found.confirmedAt > this.#staleAfter;
    return decide(found.state, key, type, fallback, context, isStale);
  }

  /** So that evaluations during an outage do not all wait for the timeout of a read. */
  #remember(key: string, message: string): void {
    const { maxFlags = FLAGS } = this.#options;
    if (this.#failures.size >= maxFlags) this.#failures.clear();
    this.#failures.set(key, { until: Date.now() + Math.min(this.#refresh, FAILURE_MS), message });
  }

  /** One read for each flag at a time, however many evaluations wait for it. */
  #read(key: string): Promise<void> {
    const under = this.#reading.get(key);
    if (under !== undefined) return under;
    const reading = this.#ask(key).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  /** @throws ReadError without a usable answer */
  async #ask(key: string): Promise<void> {
    const askedAt = Date.now();
    const { text, age, ttl } = await this.#document(this.#nameOf(key));
    this.#failures.delete(key);
    if (this.#cache.answered(key, text, askedAt, age, ttl)) this.#emitChanged([key]);
  }

  #nameOf(key: string): NameParts {
    return partsOfKey(`${key}.flags.${this.#options.namespace}.v1`);
  }

  /** `age`: milliseconds, of an earlier answer that the reader kept; null for one of now. `ttl`: seconds. */
  async #document(
    name: NameParts,
  ): Promise<{ readonly text: string | null; readonly age: number | null; readonly ttl: number | null }> {
    try {
      const { signal } = this.#closing;
      const { data, stale = false, age = 0, ttl } = await this.#options.reader.text(name, { signal });
      return { text: data, age: stale ? age * 1000 : null, ttl };
    } catch (error) {
      if (error instanceof NotFound) return { text: null, age: null, ttl: null };
      // The record is there and holds no text: a broken document, not an outage.
      if (error instanceof Unreadable) return { text: '', age: null, ttl: null };
      throw error;
    }
  }

  #follow(): void {
    const { events: origin, namespace, reader } = this.#options;
    if (origin === undefined) return;
    const { signal } = this.#closing;
    const onChange = (): void => this.#soon(() => void this.#refreshAll());
    void followFlagEvents({ origin, namespace, token: reader.token, signal, onChange });
  }

  /** After an event: DNS may know of it a moment later, so it is asked twice. */
  #soon(read: () => void): void {
    read();
    void wait(SETTLE_MS, this.#closing.signal).then(read, () => undefined);
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#refreshAll().finally(() => this.#schedule()), this.#refresh);
    // A program that has nothing else to do may end.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Reads every flag in use again, then says whether the provider has become stale, or ready again. */
  async #refreshAll(): Promise<void> {
    this.#cache.dropIdle(Date.now() - IDLE_REFRESHES * this.#refresh);
    const preload = (this.#options.preload ?? []).map((key) => key.toLowerCase());
    const waiting = [...new Set([...this.#cache.keys(), ...preload])];
    const worker = async (): Promise<void> => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
        // A failure shows in `oldest`.
        await this.#read(key).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (!this.#closing.signal.aborted) this.#checkStale();
  }

  #checkStale(): void {
    const oldest = this.#cache.oldest();
    // Without any flag nothing is known: what was said last stands.
    const isStale = oldest === null ? this.#isStale : Date.now() - oldest > this.#staleAfter;
    if (isStale === this.#isStale) return;
    this.#isStale = isStale;
    if (isStale)
      this.events.emit(ProviderEvents.Stale, { message: 'The flags could not be read for some time' });
    else this.events.emit(ProviderEvents.Ready, { message: 'The flags can be read again' });
  }

  #emitChanged(flagsChanged: string[]): void {
    this.events.emit(ProviderEvents.ConfigurationChanged, { flagsChanged });
  }
}

const NOT_A_NAME = 'names of flags have letters, digits, hyphens and dots';

const REASONS = {
  static: StandardResolutionReasons.STATIC,
  default: StandardResolutionReasons.DEFAULT,
  match: StandardResolutionReasons.TARGETING_MATCH,
  split: StandardResolutionReasons.SPLIT,
} as const;

function decide<T>(
  state: FlagState,
  key: string,
  type: FlagType,
  fallback: T,
  context: EvaluationContext,
  isStale: boolean,
): ResolutionDetails<T> {
  if (state.kind === 'missing') return failed(fallback, ErrorCode.FLAG_NOT_FOUND, 'there is no such flag');
  if (state.kind === 'broken') return failed(fallback, ErrorCode.PARSE_ERROR, state.fault);
  const { flag } = state;
  if (flag.type !== type)
    return failed(fallback, ErrorCode.TYPE_MISMATCH, `the flag is of type ${flag.type}`);
  const decision = evaluate(flag, key, context as Context);
  if (decision.kind === 'disabled') return { value: fallback, reason: StandardResolutionReasons.DISABLED };
  if (decision.kind === 'no targeting key') {
    return failed(fallback, ErrorCode.TARGETING_KEY_MISSING, 'the rollout needs a targetingKey');
  }
  const { variant, why } = decision;
  const reason = isStale ? StandardResolutionReasons.STALE : REASONS[why];
  return { value: flag.variants.get(variant) as FlagValue as T, variant, reason };
}

function failed<T>(value: T, errorCode: ErrorCode, errorMessage: string): ResolutionDetails<T> {
  return { value, reason: StandardResolutionReasons.ERROR, errorCode, errorMessage };
}
