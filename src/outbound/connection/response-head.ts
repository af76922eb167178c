/** The head of an HTTP/1.1 response (RFC 9112), for those who want nothing else of it. Strict: what is doubtful is refused. */

/** Octets of one head, the empty line included. */
export const HEAD_MAX = 16_384;

export interface ResponseHead {
  /** 100 to 599. */
  readonly status: number;
  /** Names in lower case. Of a name that comes again the first value counts, of `set-cookie` all. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Octets of the head: what follows is another, or a body. */
  readonly octets: number;
}

const STATUS_LINE = /^HTTP\/1\.[01] ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** A name, and a value without white space around it (RFC 9110 §5.1, §5.5). */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;
const END = '\r\n\r\n';
const LENGTH = /^[0-9]{1,15}$/;

/**
 * Reads a head from the start of what has arrived.
 *
 * @returns null when it is not whole yet, `malformed` when it never will be
 */
export function readHead(octets: Buffer): ResponseHead | 'malformed' | null {
  const end = octets.indexOf(END);
  if (end < 0 || end + END.length > HEAD_MAX) {
    return octets.length >= HEAD_MAX || !mayBegin(octets) ? 'malformed' : null;
  }
  const [first = '', ...lines] = octets.toString('latin1', 0, end).split('\r\n');
  const status = STATUS_LINE.exec(first)?.[1];
  const headers = status === undefined ? null : readFields(lines);
  if (headers === null) return 'malformed';
  return { status: Number(status), headers, octets: end + END.length };
}

const BEGINNING = Buffer.from('HTTP/1.');

/** Whoever speaks another language is not listened to until its deadline. */
function mayBegin(octets: Buffer): boolean {
  const length = Math.min(octets.length, BEGINNING.length);
  return octets.compare(BEGINNING, 0, length, 0, length) === 0;
}

function readFields(lines: readonly string[]): Record<string, string | string[]> | null {
  const headers: Record<string, string | string[]> = Object.create(null);
  const cookies: string[] = [];
  for (const line of lines) {
    const field = FIELD.exec(line);
    if (field === null) return null;
    const name = field[1]!.toLowerCase();
    const value = field[2]!;
    if (name === 'set-cookie') cookies.push(value);
    else if (!(name in headers)) headers[name] = value;
    else if (name === 'content-length') return null;
  }
  if (cookies.length > 0) headers['set-cookie'] = cookies;
  return isFramed(headers) ? headers : null;
}

/** One way to tell where the body ends, or none (RFC 9112 §6.3). Nobody reads it, but who errs here errs elsewhere. */
function isFramed({
  'content-length': length,
  'transfer-encoding': coding,
}: Record<string, unknown>): boolean {
  if (length === undefined) return true;
  return coding === undefined && typeof length === 'string' && LENGTH.test(length);
}
