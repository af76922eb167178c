import { foldCase } from '../../../src/protocol/names/labels.ts';
import { decryptPayload, envelopeTime, type OpenedPayload } from './encrypted.ts';
import { PayloadError, RolledBack } from './faults.ts';
import { type EncryptionKey, readKeyFile } from './key-file.ts';
import { type PublicKey, readPublicKey, verifyPayload } from './signed.ts';

/** What a reader demands of the data of records. */
export interface OpenOptions {
  /** The text of a key file: values must be encrypted with one of its keys. */
  readonly keys?: string | undefined;
  /** Public keys, each as PEM or as Base64 of 32 octets: values must be signed by one of them. */
  readonly signedBy?: string | readonly string[] | undefined;
  /** With `keys`: values that are text and not encrypted are given as they are. */
  readonly allowPlain?: boolean | undefined;
  /** Seconds that the writing of a value may lie back. */
  readonly maxAge?: number | undefined;
  /** Name of the key file, for messages. */
  readonly keyFile?: string | undefined;
}

/** Records whose latest time is remembered; the one that was read longest ago goes first. */
export const REMEMBERED_KEYS_MAX = 10_000;

interface Keys {
  readonly encryption: readonly EncryptionKey[] | null;
  readonly signers: readonly PublicKey[] | null;
}

/** Decrypts values and checks their signatures, and refuses one that is older than a value of the same record before it. */
export class PayloadOpener {
  readonly #options: OpenOptions;
  #keys: Promise<Keys> | null = null;
  /** Latest time of writing by record key, in milliseconds. */
  readonly #latest = new Map<string, number>();

  /** @throws TypeError for a maximum age that is none, or without keys of either kind */
  constructor(options: OpenOptions) {
    const { keys, signedBy, maxAge } = options;
    if (keys === undefined && (signedBy === undefined || signedBy.length === 0))
      throw new TypeError('give keys, signedBy or both');
    if (maxAge !== undefined && !(maxAge > 0)) throw new TypeError('maxAge must be a number of seconds');
    this.#options = options;
  }

  /** @throws TypeError for keys that are none. `open` does so too */
  async ready(): Promise<void> {
    await this.#read();
  }

  /** @param octets data of the record. @throws PayloadError, RolledBack */
  async open(recordKey: string, octets: Uint8Array): Promise<OpenedPayload> {
    const opened = await this.#opened(recordKey, octets);
    this.#checkTime(foldCase(recordKey), opened);
    return opened;
  }

  async #opened(recordKey: string, octets: Uint8Array): Promise<OpenedPayload> {
    const { encryption, signers } = await this.#read();
    const signed = signers === null ? null : await verifyPayload(signers, recordKey, octets);
    const payload = signed?.payload ?? Uint8Array.from(octets);
    const time = signed?.time ?? null;
    if (encryption === null) return { data: payload, time, keyId: null };
    try {
      const opened = await decryptPayload(encryption, recordKey, payload, this.#options.keyFile);
      return { ...opened, time: time ?? opened.time };
    } catch (error) {
      const isPlain = error instanceof PayloadError && error.fault === 'plain';
      if (!isPlain || this.#options.allowPlain !== true) throw error;
      return { data: payload, time, keyId: null };
    }
  }

  /** Remembers what a reader of before has seen. @param octets data of a record from a file that is itself protected */
  remember(recordKey: string, octets: Uint8Array | null): void {
    const time = octets === null ? null : envelopeTime(octets);
    if (time !== null) this.#keep(foldCase(recordKey), time);
  }

  #checkTime(recordKey: string, { time, keyId }: OpenedPayload): void {
    // A plain value, allowed as such, has no time.
    if (time === null && keyId === null) return;
    const { maxAge } = this.#options;
    if (maxAge !== undefined && (time === null || time < Date.now() - maxAge * 1000))
      throw new RolledBack(
        time === null ? 'without a time of writing' : 'written longer ago than accepted',
        time,
      );
    const latest = this.#latest.get(recordKey);
    if (latest !== undefined && (time ?? 0) < latest)
      throw new RolledBack('older than a value that was read before', time);
    if (time !== null) this.#keep(recordKey, time);
  }

  #keep(recordKey: string, time: number): void {
    const latest = Math.max(time, this.#latest.get(recordKey) ?? 0);
    this.#latest.delete(recordKey);
    this.#latest.set(recordKey, latest);
    if (this.#latest.size <= REMEMBERED_KEYS_MAX) return;
    const [oldest] = this.#latest.keys();
    this.#latest.delete(oldest!);
  }

  #read(): Promise<Keys> {
    this.#keys ??= keysOf(this.#options);
    return this.#keys;
  }
}

async function keysOf({ keys, signedBy }: OpenOptions): Promise<Keys> {
  const signers = typeof signedBy === 'string' ? [signedBy] : signedBy;
  return {
    encryption: keys === undefined ? null : await readKeyFile(keys),
    signers: signers === undefined ? null : await Promise.all(signers.map(readPublicKey)),
  };
}
