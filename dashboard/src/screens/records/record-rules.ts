/** The rules of the server for records, so that a form or an import can say at once what would be refused. */
import { encodeBase64 } from '../../../../src/protocol/encodings.ts';
import { type KeyFault, readRecordKey } from '../../../../src/protocol/names/record-key.ts';
import { MEDIA_TYPE } from '../../../../src/protocol/query/envelope.ts';

/** Numbers of `/meta`. */
export interface RecordLimits {
  readonly key: number;
  readonly data: number;
  readonly contentType: number;
  readonly ttl: number;
}

/** The text of each stands in `records.fault`. */
export type FaultReason =
  | `key_${KeyFault}`
  | 'data_long'
  | 'data_base64'
  | 'data_json'
  | 'data_plain'
  | 'type_long'
  | 'type_form'
  | 'ttl_range'
  | 'expiry_both'
  | 'expiry_past'
  | 'expiry_form';

export interface Fault {
  readonly field: 'key' | 'data' | 'content_type' | 'ttl_seconds' | 'expires';
  readonly reason: FaultReason;
}

/** Numbers of an older server's `/meta` may be missing: the defaults are those of docs/OPERATIONS.md. */
export function limitsOf(limits: Readonly<Record<string, number>>): RecordLimits {
  return {
    key: limits.record_key ?? 178,
    data: limits.record_data ?? 2586,
    contentType: limits.content_type ?? 127,
    ttl: limits.ttl_seconds_max ?? 2_147_483_647,
  };
}

/** @param key in any case */
export function keyFault(key: string, longest: number): FaultReason | null {
  const read = readRecordKey(key, longest);
  return typeof read === 'string' ? `key_${read}` : null;
}

/** The last labels of a key: params, resource, namespace, version. */
export function keyParts(key: string): {
  readonly params: string;
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
} {
  const labels = key.split('.');
  const [resource = '', namespace = '', version = ''] = labels.slice(-3);
  return { params: labels.slice(0, -3).join('.'), resource, namespace, version };
}

export function contentTypeFault(type: string, longest: number): FaultReason | null {
  if (type.length > longest) return 'type_long';
  return MEDIA_TYPE.test(type) ? null : 'type_form';
}

/** Octets of Base64 when it is decoded. */
export function base64Octets(text: string): number {
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}

export function textToBase64(text: string): string {
  return encodeBase64(new TextEncoder().encode(text));
}
