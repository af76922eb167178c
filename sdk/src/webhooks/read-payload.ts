import type { WebhookPayload } from './payload.ts';
import { WebhookVerificationError } from './verification-error.ts';

type Kind = 'text' | 'integer' | 'text or null';
type Fields = Readonly<Record<string, Kind>>;

type RequiredKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];

/** Required fields, apart from `event` and `data`. */
const EVENT: Fields = { seq: 'integer', created_at: 'text' };
const TEST: Fields = { timestamp: 'text' };

/** Required fields of `data`; others are allowed. */
const DATA: {
  readonly [E in WebhookPayload as E['event']]: Readonly<Record<RequiredKeys<E['data']>, Kind>>;
} = {
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

/** @throws WebhookVerificationError `malformed_body` */
export function readPayload(rawBody: string | Uint8Array): WebhookPayload {
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
