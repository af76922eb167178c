/**
 * The receiver's side of webhooks (docs/WEBHOOKS.md). The file imports only `node:crypto`, so that receivers can copy
 * it instead of installing the package.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The record at the time of the event. It may have changed since. */
export interface RecordUpserted {
  /** `[<params>.]<resource>.<namespace>.<version>`, lower case. */
  readonly key: string;
  readonly namespace: string;
  readonly resource: string;
  /** `v` and a number: `v1`. */
  readonly version: string;
  /** Media type. */
  readonly content_type: string;
  readonly ttl_seconds: number;
  /** Base64, padded. Null: the record was deleted, or had expired, before this event could be queued. */
  readonly data: string | null;
}

export interface RecordDeleted {
  readonly key: string;
  readonly namespace: string;
}

export interface NamespaceUpserted {
  readonly id: string;
  readonly name: string;
  readonly records_count: number;
  /** ISO 8601 in UTC. */
  readonly created_at: string;
  readonly updated_at: string;
}

export interface NamespaceDeleted {
  readonly namespace: string;
}

export interface WebhookTest {
  readonly message: string;
  readonly webhook_id: string;
  readonly webhook_name: string;
}

interface Event<Name extends string, Data> {
  readonly event: Name;
  /** Ascends from event to event of the account, with gaps. */
  readonly seq: number;
  /** ISO 8601 in UTC: when the event happened, not when it was sent. */
  readonly created_at: string;
  readonly data: Data;
}

/** The body of a request. `event` is the discriminant. Later versions of the service may add fields. */
export type WebhookPayload =
  | Event<'record.upserted', RecordUpserted>
  | Event<'record.deleted', RecordDeleted>
  | Event<'namespace.upserted', NamespaceUpserted>
  | Event<'namespace.deleted', NamespaceDeleted>
  | {
      readonly event: 'webhook.test';
      /** ISO 8601 in UTC. */
      readonly timestamp: string;
      readonly data: WebhookTest;
    };

const REASONS = {
  malformed_secret: 'The signing secret is not 64 lower-case hexadecimal letters',
  malformed_header: 'The signature header is missing, repeated or not of the form t=<unix time>,v1=<hex>',
  no_match: 'No signature in the header fits the body and the signing secret',
  outside_tolerance: 'The signature is too old, or from the future',
  malformed_body: 'The body is signed and is no event that is known here',
} as const;

/**
 * Why a request was rejected. `malformed_secret` is a fault of the receiver's settings; the others are of the
 * request.
 */
export type WebhookVerificationReason = keyof typeof REASONS;

/** The message is one of five fixed sentences. It never contains a secret or a part of the request. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason) {
    super(REASONS[reason]);
    this.reason = reason;
  }
}

export interface VerifyOptions {
  /** Maximum difference between `t` and now, past or future, seconds, inclusive. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch, or a function that returns them. Default `Date.now`. */
  readonly now?: number | (() => number) | undefined;
}

/**
 * Checks that a request comes from the service, is unchanged and is recent, and parses its body. It checks the
 * signature first, then the age, and parses the body last.
 *
 * @param rawBody the request's body exactly as it arrived, before any parser
 * @param header the value of `X-Service-Signature`; anything but one string is rejected
 * @param signingSecret `signing_secret` of the webhook: 64 hexadecimal characters
 * @throws WebhookVerificationError when the request must be rejected
 * @throws TypeError when the body is not raw, RangeError for a negative tolerance: faults of the calling program
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | undefined,
  signingSecret: string,
  options: VerifyOptions = {},
): WebhookPayload {
  const { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now } = options;
  if (!(toleranceSeconds >= 0)) throw new RangeError('toleranceSeconds must not be negative');
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new TypeError('rawBody must be the body as it arrived: a Buffer, a Uint8Array or a string');
  }
  if (!SECRET.test(signingSecret)) throw new WebhookVerificationError('malformed_secret');
  const { t, signatures } = parseHeader(header);
  const expected = createHmac('sha256', signingSecret).update(`${t}.`).update(rawBody).digest();
  if (!signatures.some((signature) => timingSafeEqual(signature, expected))) {
    throw new WebhookVerificationError('no_match');
  }
  const age = Math.floor((typeof now === 'number' ? now : now()) / 1000) - t;
  // Negated, so that NaN from the clock rejects the request.
  if (!(Math.abs(age) <= toleranceSeconds)) throw new WebhookVerificationError('outside_tolerance');
  return parseBody(rawBody);
}

const TOLERANCE_SECONDS = 300;
const HEADER_MAX = 1024;
const SECRET = /^[0-9a-f]{64}$/;
/** The signature covers the digits, so only one spelling of a number is accepted. */
const TIME = /^(?:0|[1-9][0-9]{0,11})$/;
const SIGNATURE = /^[0-9a-f]{64}$/;
/** `scheme=value` without white space: headers that were joined into one (`..., t=...`) do not pass. */
const ITEM = /^([A-Za-z0-9_-]+)=([!-+.-~-]+)$/;

interface SignatureHeader {
  /** Unix time in seconds. */
  readonly t: number;
  /** Each of 32 octets, at least one. */
  readonly signatures: readonly Uint8Array[];
}

/** Exactly one `t`, one or more `v1`. Unknown schemes are ignored. */
function parseHeader(header: unknown): SignatureHeader {
  const malformed = new WebhookVerificationError('malformed_header');
  if (typeof header !== 'string' || header.length > HEADER_MAX) throw malformed;
  const times: number[] = [];
  const signatures: Uint8Array[] = [];
  for (const item of header.split(',')) {
    const [, scheme, value = ''] = ITEM.exec(item) ?? [];
    if (scheme === undefined) throw malformed;
    if (scheme === 't' && TIME.test(value)) times.push(Number(value));
    else if (scheme === 'v1' && SIGNATURE.test(value)) signatures.push(Buffer.from(value, 'hex'));
    else if (scheme === 't' || scheme === 'v1') throw malformed;
  }
  const [t] = times;
  if (t === undefined || times.length > 1 || signatures.length === 0) throw malformed;
  return { t, signatures };
}

type Kind = 'text' | 'integer' | 'text or null';
type Fields = Readonly<Record<string, Kind>>;

/** Required fields, apart from `event` and `data`. */
const EVENT: Fields = { seq: 'integer', created_at: 'text' };
const TEST: Fields = { timestamp: 'text' };

/** Required fields of `data`; others are allowed. */
const DATA: { readonly [E in WebhookPayload as E['event']]: Readonly<Record<keyof E['data'], Kind>> } = {
  'record.upserted': {
    key: 'text',
    namespace: 'text',
    resource: 'text',
    version: 'text',
    content_type: 'text',
    ttl_seconds: 'integer',
    data: 'text or null',
  },
  'record.deleted': { key: 'text', namespace: 'text' },
  'namespace.upserted': {
    id: 'text',
    name: 'text',
    records_count: 'integer',
    created_at: 'text',
    updated_at: 'text',
  },
  'namespace.deleted': { namespace: 'text' },
  'webhook.test': { message: 'text', webhook_id: 'text', webhook_name: 'text' },
};

function parseBody(rawBody: string | Uint8Array): WebhookPayload {
  const payload = parseJson(rawBody);
  // The message of JSON.parse quotes the body, so it is dropped.
  if (!isPayload(payload)) throw new WebhookVerificationError('malformed_body');
  return payload;
}

/** @returns undefined when the body is not JSON in UTF-8 */
function parseJson(rawBody: string | Uint8Array): unknown {
  try {
    if (typeof rawBody === 'string') return JSON.parse(rawBody);
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawBody));
  } catch {
    return undefined;
  }
}

function isPayload(value: unknown): value is WebhookPayload {
  if (!isObject(value)) return false;
  const { event, data } = value;
  if (!isEvent(event) || !isObject(data)) return false;
  return has(value, event === 'webhook.test' ? TEST : EVENT) && has(data, DATA[event]);
}

function isEvent(value: unknown): value is WebhookPayload['event'] {
  return typeof value === 'string' && Object.hasOwn(DATA, value);
}

function has(object: Readonly<Record<string, unknown>>, fields: Fields): boolean {
  return Object.entries(fields).every(([field, kind]) => isKind(object[field], kind));
}

function isKind(value: unknown, kind: Kind): boolean {
  if (kind === 'integer') return Number.isSafeInteger(value);
  return typeof value === 'string' || (kind === 'text or null' && value === null);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
