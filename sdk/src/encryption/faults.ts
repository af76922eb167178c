import { ReadError } from '../dns/read-error.ts';

/** `no_key`: its key is not given; `damaged`: made for another record, or changed; `plain`: not encrypted, or not signed, as asked for. */
export type PayloadFault = 'no_key' | 'damaged' | 'plain' | 'unknown_form';

/** The data of a record is not encrypted or signed as the reader demands (docs/ENCRYPTION.md). */
export class PayloadError extends ReadError {
  override readonly name: string = 'PayloadError';
  readonly fault: PayloadFault;
  /** Of the key that is missing, in hexadecimal; else null. */
  readonly keyId: string | null;

  constructor(fault: PayloadFault, message: string, keyId: string | null = null) {
    super(message);
    this.fault = fault;
    this.keyId = keyId;
  }
}

/** The data is older than what this reader has read before, or than it accepts: somebody gives back an old value. */
export class RolledBack extends ReadError {
  override readonly name: string = 'RolledBack';
  /** When the data was written, in milliseconds; null: of the old form, which has no time. */
  readonly time: number | null;

  constructor(message: string, time: number | null) {
    super(message);
    this.time = time;
  }
}
