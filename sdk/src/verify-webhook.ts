/**
 * The receiver's side of webhooks (docs/WEBHOOKS.md). One file that needs nothing but Node's own crypto, so that it can
 * be copied as well as installed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** A record as it was when the event happened, whatever has become of it since. */
export interface RecordUpserted {
  /** `[<params>.]<resource>.<namespace>.<version>`, lower case. */
  readonly key: string;
  readonly namespace: string;
  readonly resource: string;
  /** `v1` and so on. */
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

/** The body of a request. `event` tells them apart; there may be fields that are not listed here. */
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

/** Why a request was turned down. All but `malformed_secret` speak of the request, not of the receiver's own settings. */
export type WebhookVerificationReason = keyof typeof REASONS;

/** Its message is one of five fixed sentences: neither a secret nor anything of the request is ever in it. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason) {
    super(REASONS[reason]);
    this.reason = reason;
  }
}

export interface VerifyOptions {
  /** How far `t` may lie from now on either side, in seconds, the end included. 300 unless given. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch, or what tells them. The machine's clock unless given. */
  readonly now?: number | (() => number) | undefined;
}

/**
 * Checks that a request came from the service, unchanged and lately, and reads it. The signature is checked first, then the
 * age, and the body is parsed only after both.
 *
 * @param rawBody the request's body exactly as it arrived, before anything has parsed it
 * @param header the value of `X-Service-Signature`; only a single text can pass
 * @param signingSecret `signing_secret` of the webhook, the 64 letters themselves
 * @throws WebhookVerificationError when the request must be turned down
 * @throws TypeError for a body that is no raw body, RangeError for a tolerance below zero: faults of the calling program
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
  // Turned round, so that a clock that tells nothing (NaN) lets nothing pass.
  if (!(Math.abs(age) <= toleranceSeconds)) throw new WebhookVerificationError('outside_tolerance');
  return parseBody(rawBody);
}

const TOLERANCE_SECONDS = 300;
const HEADER_MAX = 1024;
const SECRET = /^[0-9a-f]{64}$/;
/** The number is signed as it is written, so only one way of writing it counts. */
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

/** One `t`, one or more `v1`; schemes that are not known yet are passed over. */
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

/** What must be beside `event` and `data`. */
const EVENT: Fields = { seq: 'integer', created_at: 'text' };
const TEST: Fields = { timestamp: 'text' };

/** What must be in `data`: more may be. */
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
  // What JSON.parse says quotes the body, so it is not passed on.
  if (!isPayload(payload)) throw new WebhookVerificationError('malformed_body');
  return payload;
}

/** Undefined: no JSON in UTF-8. */
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
