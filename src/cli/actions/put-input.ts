/** The command line of `put` as the body of a write. */

import { createReadStream } from 'node:fs';
import { InputError, UsageError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { contentFormat, FORMATS, isPlainInDig } from '../../protocol/query/envelope.ts';

export interface PutOptions {
  /** The value is the content of this file; `-` is standard input. */
  readonly file?: string;
  /** Path of a key file: the value is encrypted with its first key. */
  readonly encrypt?: string;
  /** Path of a signing key: the value is signed. */
  readonly sign?: string;
  /** Media type of the value. */
  readonly type?: string;
  /** Let DNS answers carry the value as it is. */
  readonly plain?: boolean;
  /** Let DNS answers carry the value in Base64. */
  readonly b64?: boolean;
  /** Seconds, as text. */
  readonly ttl?: string;
  /** Time until the record is erased: `30s`, `5m`, `1h`, `7d`. */
  readonly expires?: string;
  /** Seconds until the record is erased, as text. */
  readonly expiresIn?: string;
  /** ISO 8601. */
  readonly expiresAt?: string;
  /** Mail address of the account that owns the namespace. Account and namespace are made where they are missing. */
  readonly user?: string;
  /** The same as `user`. */
  readonly as?: string;
  /** Let everyone read the namespace without a token. */
  readonly publicRead?: boolean;
  /** URL of the REST server, for a write with UQRP_TOKEN. */
  readonly api?: string;
  /** Time to wait until every node has the write; true: the option without a time. */
  readonly wait?: string | true;
}

/**
 * The fields of the record besides its key. A text that `dig +short` prints as it is, is in plain text without an option.
 * @throws UsageError for a duration or a number that is none
 */
export function putFields(data: Buffer, options: PutOptions) {
  const { file, type, ttl, expires, expiresIn, expiresAt, encrypt, sign, plain, b64 = false } = options;
  const isText = (file ?? encrypt ?? sign) === undefined;
  const content_type = type ?? (isText ? 'text/plain' : 'application/octet-stream');
  const ttl_seconds = ttl === undefined ? LIMITS.ttlSecondsDefault : seconds('--ttl', ttl);
  const isReadable = isText && isPlainInDig(data, contentFormat(content_type, FORMATS), ttl_seconds);
  return {
    data: data.toString('base64'),
    content_type,
    ...((plain ?? (!b64 && isReadable)) && { encoding: 'plain' as const }),
    ...(ttl !== undefined && { ttl_seconds }),
    ...(expires !== undefined && { expires_in: durationSeconds(expires) }),
    ...(expiresIn !== undefined && { expires_in: seconds('--expires-in', expiresIn) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}

function seconds(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${option} takes a whole number of seconds`);
  return Number(text);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `--wait`; null without it. @throws UsageError */
export function waitSeconds(wait: string | true | undefined): number | null {
  if (wait === undefined) return null;
  const seconds = wait === true ? 5 : durationSeconds(wait, '--wait', '5s');
  if (seconds > LIMITS.propagationWaitS)
    throw new UsageError(`--wait takes at most ${LIMITS.propagationWaitS}s`);
  return seconds;
}

export function durationSeconds(text: string, option = '--expires', shown = '30s, 5m, 1h or 7d'): number {
  const [, count, unit = ''] = /^([1-9]\d{0,9})([smhd])$/.exec(text) ?? [];
  if (count === undefined) {
    throw new UsageError(`${option} takes a number and a unit: ${shown}`);
  }
  return Number(count) * UNIT_SECONDS[unit]!;
}

/**
 * The octets to store, at most one more than a record holds: enough for the rules to refuse them.
 * @param value the text; `-` reads standard input
 * @throws UsageError unless exactly one of value and --file is given; InputError for a file that cannot be read
 */
export async function putData(value: string | undefined, { file }: PutOptions): Promise<Buffer> {
  if (value === undefined && file === undefined) {
    throw new UsageError('put needs the text of the record, or --file FILE. Give one of them.');
  }
  if (value !== undefined && file !== undefined) {
    throw new UsageError('put takes either the text of the record or --file FILE. Leave out one of them.');
  }
  if (value === '-' || file === '-') return await readStart(process.stdin as AsyncIterable<Buffer>);
  return file === undefined ? Buffer.from(value!) : await readFileStart(file);
}

async function readFileStart(path: string): Promise<Buffer> {
  try {
    return await readStart(createReadStream(path) as AsyncIterable<Buffer>);
  } catch (error) {
    throw new InputError(`${path} cannot be read: ${fileFault(error as NodeJS.ErrnoException)}`);
  }
}

function fileFault({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  return code === 'EACCES' ? 'this user may not read it' : message;
}

async function readStart(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    parts.push(part);
    bytes += part.length;
    if (bytes > LIMITS.recordData) break;
  }
  return Buffer.concat(parts).subarray(0, LIMITS.recordData + 1);
}

/** `records[0].key is ...` and `delete[0] is ...`: the form in which a bulk write names its items. */
const ITEM = /^(?:records\[0\]\.|delete\[0\](?! has changed))/;

/** The message of a bulk write with one item, without the place of the item. */
export function aboutOneItem(message: string): string {
  return message.replace(ITEM, (item) => (item.endsWith('.') ? '' : 'key'));
}
