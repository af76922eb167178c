import { defaultFetch, type Fetch } from '../shared/fetch.ts';
import { backoffMs, wait } from '../shared/wait.ts';
import { overHttps } from './doh.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { Unavailable, Unreadable } from './errors.ts';
import { buildName, type NameParts, partsOfKey } from './name.ts';
import type { Transport, TxtAnswer } from './transport.ts';

interface CommonOptions {
  /** Zone of the server. Default `uqrp.net`. */
  readonly zone?: string | undefined;
  /** Query token for private namespaces. It is not sent for the namespace `public`. */
  readonly token?: string | undefined;
  /** Milliseconds for a read with its repetitions. Default 5,000. */
  readonly timeout?: number | undefined;
  /** Repetitions after no usable answer. Default 2. */
  readonly retries?: number | undefined;
}

/** Either DNS over HTTPS, on every runtime with `fetch`, or DNS servers, on Node. */
export type ReaderOptions = CommonOptions &
  (
    | {
        /** Such as `https://uqrp.example.net/dns-query`. */
        readonly doh: string;
        readonly fetch?: Fetch | undefined;
        readonly servers?: undefined;
      }
    | {
        /** Addresses with a port if it is not 53: `127.0.0.1:5300`, `[::1]:5300`. */
        readonly servers: readonly string[];
        readonly doh?: undefined;
        readonly fetch?: undefined;
      }
  );

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  /** In place of the reader's token; null: none. */
  readonly token?: string | null | undefined;
}

/** What to read: a record's key such as `greeting.acme.v1`, or the parts of a name. */
export type Question = string | NameParts;

export interface Reading<T> {
  readonly data: T;
  /** Field `f` of the envelope: `json`, `text`, `bin`, ... */
  readonly format: string | null;
  /** Seconds for which resolvers may keep the answer; null with `servers`, which do not tell it. */
  readonly ttl: number | null;
  /** `ttl_seconds` of the record: a hint of the writer. */
  readonly ttlHint: number | null;
}

/** The whole envelope. `data` is null in computed answers. */
export interface RawReading extends Envelope {
  readonly ttl: number | null;
}

const TIMEOUT_MS = 5000;
const RETRIES = 2;
const ZONE = 'uqrp.net';

/** Reads records and public services over DNS. Each read asks once: caching is the resolver's work. */
export class Reader {
  readonly #options: ReaderOptions;
  #transport: Transport | null = null;

  constructor(options: ReaderOptions) {
    const { doh, servers, timeout = TIMEOUT_MS } = options;
    if ((doh === undefined) === (servers === undefined)) throw new TypeError('give either doh or servers');
    if (doh !== undefined && !/^https?:$/.test(URL.canParse(doh) ? new URL(doh).protocol : '')) {
      throw new TypeError('doh must be an http or https URL');
    }
    if (!(timeout > 0)) throw new RangeError('timeout must be positive');
    this.#options = options;
  }

  /** @throws ReadError */
  async raw(question: Question, options: ReadOptions = {}): Promise<RawReading> {
    const { text, ttl } = await this.#ask(this.#nameOf(question, options), options);
    return { ...readEnvelope(text), ttl };
  }

  /** The data as octets. @throws ReadError */
  async bytes(question: Question, options: ReadOptions = {}): Promise<Reading<Uint8Array<ArrayBuffer>>> {
    const { data, format, ttl, ttlHint } = await this.raw(question, options);
    if (data === null) throw new Unreadable('The answer has fields and no data: use fields or raw');
    return { data, format, ttl, ttlHint };
  }

  /** The data as UTF-8. @throws ReadError */
  async text(question: Question, options: ReadOptions = {}): Promise<Reading<string>> {
    const reading = await this.bytes(question, options);
    return { ...reading, data: utf8(reading.data) };
  }

  /** The data as JSON. The type is the caller's claim. @throws ReadError */
  async json<T = unknown>(question: Question, options: ReadOptions = {}): Promise<Reading<T>> {
    const reading = await this.text(question, options);
    return { ...reading, data: parseJson(reading.data) as T };
  }

  /** The fields of a computed answer, without those of every envelope. @throws ReadError */
  async fields(question: Question, options: ReadOptions = {}): Promise<Reading<ReadonlyMap<string, string>>> {
    const { fields, format, ttl, ttlHint } = await this.raw(question, options);
    const own = [...fields].filter(([name]) => !['v', 's', 't', 'e', 'f'].includes(name));
    return { data: new Map(own), format, ttl, ttlHint };
  }

  #nameOf(question: Question, options: ReadOptions): string {
    const parts = typeof question === 'string' ? partsOfKey(question) : question;
    const { zone = ZONE, token } = this.#options;
    const isPublic = parts.namespace.toLowerCase() === 'public';
    const own = options.token === undefined ? (parts.token ?? token) : options.token;
    return buildName({ ...parts, token: isPublic ? null : own }, zone);
  }

  async #ask(name: string, options: ReadOptions): Promise<TxtAnswer> {
    const { timeout = TIMEOUT_MS, retries = RETRIES } = this.#options;
    const limit = options.timeout ?? timeout;
    options.signal?.throwIfAborted();
    const late = AbortSignal.timeout(limit);
    const signal = options.signal === undefined ? late : AbortSignal.any([options.signal, late]);
    const transport = await this.#open();
    let last: Unavailable = new Unavailable('timeout');
    for (let failures = 0; ; ) {
      try {
        return await transport(name, signal);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (late.aborted) throw last;
        if (!(error instanceof Unavailable)) throw error;
        last = error;
        failures += 1;
        if (failures > retries) throw error;
      }
      await wait(backoffMs(failures), signal).catch(() => {
        options.signal?.throwIfAborted();
        throw last;
      });
    }
  }

  async #open(): Promise<Transport> {
    if (this.#transport !== null) return this.#transport;
    const { doh, servers, fetch, timeout = TIMEOUT_MS } = this.#options;
    if (servers === undefined) {
      this.#transport = overHttps(doh, fetch ?? defaultFetch);
    } else {
      const { overDns } = await import('./node-dns.ts');
      this.#transport ??= overDns(servers, timeout);
    }
    return this.#transport;
  }
}

function utf8(octets: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    throw new Unreadable('The data is not UTF-8: use bytes');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable('The data is not JSON');
  }
}
