import type { OpenedPayload } from '../encryption/encrypted.ts';
import type { OpenOptions, PayloadOpener } from '../encryption/opener.ts';
import type { KeptAnswers } from '../last-known-good/kept-answers.ts';
import { runAttempts } from '../shared/attempts.ts';
import { defaultFetch, type Fetch } from '../shared/fetch.ts';
import { backoffMs } from '../shared/wait.ts';
import { overHttps } from './doh.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { NotFound, Refused, Unavailable, Unreadable } from './errors.ts';
import { buildName, type NameParts, partsOfKey } from './name.ts';
import type { Transport, TxtAnswer } from './transport.ts';

/** With `keys` or `signedBy` the reader decrypts and verifies all data that it gives, except of `raw` (docs/ENCRYPTION.md). */
interface CommonOptions extends Omit<OpenOptions, 'keyFile'> {
  /** Zone of the server. Default `uqrp.net`. */
  readonly zone?: string | undefined;
  /** Query token for private namespaces. It is not sent for the namespace `public`. */
  readonly token?: string | undefined;
  /** Milliseconds for a read with its repetitions, which share them. Default 5,000. */
  readonly timeout?: number | undefined;
  /** Repetitions after no usable answer. Default 2. */
  readonly retries?: number | undefined;
  /**
   * Path of a file that keeps the last good answers, on Node. A read asks first, and takes its answer from there when it is
   * `Unavailable`. The token encrypts the file.
   */
  readonly lastKnownGood?: string | undefined;
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

/** Where a reading comes from. Only a reader with `lastKnownGood` says it. */
interface Freshness {
  /** The answer is an earlier one, because there was none now. */
  readonly stale?: boolean | undefined;
  /** Seconds since the answer came. */
  readonly age?: number | undefined;
}

export interface Reading<T> extends Freshness {
  readonly data: T;
  /** Field `f` of the envelope: `json`, `text`, `bin`, ... */
  readonly format: string | null;
  /** Seconds for which resolvers may keep the answer; null with `servers`, which do not tell it, and of a stale answer. */
  readonly ttl: number | null;
  /** `ttl_seconds` of the record: a hint of the writer. */
  readonly ttlHint: number | null;
  /** With `keys` or `signedBy`: when the value was written, by the writer's clock, in milliseconds. */
  readonly written?: number | null;
}

/** The whole envelope. `data` is null in computed answers. */
export interface RawReading extends Envelope, Freshness {
  readonly ttl: number | null;
}

interface Taken extends RawReading {
  readonly opened: OpenedPayload | null;
}

const TIMEOUT_MS = 5000;
const RETRIES = 2;
const ZONE = 'uqrp.net';

/** Reads records and public services over DNS. Each read asks once: caching is the resolver's work. */
export class Reader {
  readonly #options: ReaderOptions;
  #opener: Promise<PayloadOpener> | null = null;
  #transport: Transport | null = null;
  #kept: Promise<KeptAnswers> | null = null;

  constructor(options: ReaderOptions) {
    const { doh, servers, timeout = TIMEOUT_MS } = options;
    if ((doh === undefined) === (servers === undefined)) throw new TypeError('give either doh or servers');
    if (doh !== undefined && !/^https?:$/.test(URL.canParse(doh) ? new URL(doh).protocol : '')) {
      throw new TypeError('doh must be an http or https URL');
    }
    if (!(timeout > 0)) throw new RangeError('timeout must be positive');
    this.#options = options;
  }

  /** The query token that it was made with. */
  get token(): string | undefined {
    return this.#options.token;
  }

  /** As it is stored: an encrypted value stays so. @throws ReadError */
  async raw(question: Question, options: ReadOptions = {}): Promise<RawReading> {
    const { opened: _, ...reading } = await this.#take(question, options, false);
    return reading;
  }

  /** Writes to the file of `lastKnownGood` what it does not have yet. A program that calls `process.exit` should wait for it. */
  async flush(): Promise<void> {
    await (await this.#kept)?.flush();
  }

  /** The data as octets. @throws ReadError */
  async bytes(question: Question, options: ReadOptions = {}): Promise<Reading<Uint8Array<ArrayBuffer>>> {
    const { opened, data, fields: _, ...reading } = await this.#take(question, options, true);
    if (data === null) throw new Unreadable('The answer has fields and no data: use fields or raw');
    return opened === null ? { data, ...reading } : { ...reading, data: opened.data, written: opened.time };
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
    const { fields, data: _, ...reading } = await this.raw(question, options);
    const own = [...fields].filter(([name]) => !['v', 's', 't', 'e', 'f'].includes(name));
    return { data: new Map(own), ...reading };
  }

  /** @param opens whether data are decrypted and verified, if the reader does so at all */
  async #take(question: Question, options: ReadOptions, opens: boolean): Promise<Taken> {
    const parts = typeof question === 'string' ? partsOfKey(question) : question;
    const name = this.#nameOf(parts, options);
    const key = this.#keptKey(parts, options);
    const opener = opens ? await this.#openOpener() : null;
    const read = async (text: string) => {
      const envelope = readEnvelope(text);
      const { data } = envelope;
      const opened = opener === null || data === null ? null : await opener.open(recordKeyOf(parts), data);
      return { ...envelope, opened };
    };
    if (key === null) {
      const { text, ttl } = await this.#ask(name, options);
      return { ...(await read(text)), ttl };
    }
    const kept = await this.#openKept();
    const before = kept.get(key);
    if (before !== null) opener?.remember(key, readEnvelope(before.text).data);
    try {
      const { text, ttl } = await this.#ask(name, options);
      const answer = await read(text);
      // A value that nobody has verified must not replace one that was.
      if (opener !== null || !this.#demands()) kept.keep(key, text);
      return { ...answer, ttl, stale: false, age: 0 };
    } catch (error) {
      if (error instanceof Refused || error instanceof NotFound) kept.remove(key);
      const last = error instanceof Unavailable ? kept.get(key) : null;
      if (last === null) throw error;
      return { ...(await read(last.text)), ttl: null, stale: true, age: last.age };
    }
  }

  #demands(): boolean {
    const { keys, signedBy } = this.#options;
    return keys !== undefined || signedBy !== undefined;
  }

  /** The module of encryption is loaded when it is used first. Null: the reader takes data as they are. @throws TypeError */
  async #openOpener(): Promise<PayloadOpener | null> {
    if (!this.#demands()) return null;
    this.#opener ??= import('../encryption/opener.ts').then(
      ({ PayloadOpener }) => new PayloadOpener(this.#options),
    );
    return await this.#opener;
  }

  #nameOf(parts: NameParts, options: ReadOptions): string {
    const { zone = ZONE } = this.#options;
    return buildName({ ...parts, token: isPublic(parts) ? null : this.#tokenOf(parts, options) }, zone);
  }

  #tokenOf(parts: NameParts, options: ReadOptions): string | null | undefined {
    return options.token === undefined ? (parts.token ?? this.#options.token) : options.token;
  }

  /**
   * The key under which an answer is kept. Null for what is not: answers to another token, since the file opens with the reader's, and
   * those of public services, which are about a moment.
   */
  #keptKey(parts: NameParts, options: ReadOptions): string | null {
    const { lastKnownGood, token } = this.#options;
    if (lastKnownGood === undefined || isPublic(parts) || (parts.operation ?? 'get') !== 'get') return null;
    if ((this.#tokenOf(parts, options) ?? '') !== (token ?? '')) return null;
    return recordKeyOf(parts);
  }

  async #openKept(): Promise<KeptAnswers> {
    const { lastKnownGood = '', token = '' } = this.#options;
    this.#kept ??= import('../last-known-good/kept-answers.ts').then(({ KeptAnswers }) =>
      KeptAnswers.open({ path: lastKnownGood, credential: token }),
    );
    try {
      return await this.#kept;
    } catch (error) {
      // The next read looks again.
      this.#kept = null;
      throw error;
    }
  }

  async #ask(name: string, options: ReadOptions): Promise<TxtAnswer> {
    const { timeout = TIMEOUT_MS, retries = RETRIES } = this.#options;
    options.signal?.throwIfAborted();
    const transport = await this.#open();
    const attempts = {
      timeout: options.timeout ?? timeout,
      retries,
      signal: options.signal,
      late: () => new Unavailable('timeout'),
      pauseAfter: (error: unknown, failures: number) =>
        error instanceof Unavailable ? backoffMs(failures) : null,
    };
    return await runAttempts(attempts, async (deadline) => {
      try {
        return await transport(name, deadline);
      } finally {
        deadline.stopClock();
      }
    });
  }

  async #open(): Promise<Transport> {
    if (this.#transport !== null) return this.#transport;
    const { doh, servers, fetch } = this.#options;
    if (servers === undefined) {
      this.#transport = overHttps(doh, fetch ?? defaultFetch);
    } else {
      const { overDns } = await import('./node-dns.ts');
      this.#transport ??= overDns(servers);
    }
    return this.#transport;
  }
}

function isPublic({ namespace }: NameParts): boolean {
  return namespace.toLowerCase() === 'public';
}

/** The key of the record that is asked for, in lower case. */
function recordKeyOf({ params = [], resource, namespace, version = 'v1' }: NameParts): string {
  return [...params, resource, namespace, version].join('.').toLowerCase();
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
