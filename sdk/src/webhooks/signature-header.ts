import { WebhookVerificationError } from './verification-error.ts';

const HEADER_MAX = 1024;
/** The signature covers the digits, so only one spelling of a number is accepted. */
const TIME = /^(?:0|[1-9][0-9]{0,11})$/;
const SIGNATURE = /^[0-9a-f]{64}$/;
/** `scheme=value` without white space: headers that were joined into one (`..., t=...`) do not pass. */
const ITEM = /^([A-Za-z0-9_-]+)=([!-+.-~-]+)$/;

export interface SignatureHeader {
  /** Unix time in seconds. */
  readonly t: number;
  /** Each of 32 octets, at least one. */
  readonly signatures: readonly Uint8Array<ArrayBuffer>[];
}

/** Exactly one `t`, one or more `v1`. Unknown schemes are ignored. */
export function parseHeader(header: unknown): SignatureHeader {
  const malformed = new WebhookVerificationError('malformed_header');
  if (typeof header !== 'string' || header.length > HEADER_MAX) throw malformed;
  const times: number[] = [];
  const signatures: Uint8Array<ArrayBuffer>[] = [];
  for (const item of header.split(',')) {
    const [, scheme, value = ''] = ITEM.exec(item) ?? [];
    if (scheme === undefined) throw malformed;
    if (scheme === 't' && TIME.test(value)) times.push(Number(value));
    else if (scheme === 'v1' && SIGNATURE.test(value)) signatures.push(octets(value));
    else if (scheme === 't' || scheme === 'v1') throw malformed;
  }
  const [t] = times;
  if (t === undefined || times.length > 1 || signatures.length === 0) throw malformed;
  return { t, signatures };
}

function octets(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) =>
    Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16),
  );
}
