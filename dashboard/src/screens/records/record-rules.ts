/** The rules of the server for records, so that a form or an import can say at once what would be refused. */

/** Numbers of `/meta`. */
export interface RecordLimits {
  readonly key: number;
  readonly data: number;
  readonly contentType: number;
  readonly ttl: number;
}

/** The text of each stands in `records.fault`. */
export type FaultReason =
  | 'key_parts'
  | 'key_label'
  | 'key_auth'
  | 'key_version'
  | 'key_datasets'
  | 'key_long'
  | 'data_long'
  | 'data_base64'
  | 'data_json'
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

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const VERSION = /^v[1-9][0-9]{0,61}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** RFC 9110, section 8.3.1. */
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[ !#-\\[\\]-~]*"))*$`,
);

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
  const labels = key.split('.');
  const [resource = '', , version = ''] = labels.slice(-3);
  if (labels.length < 3) return 'key_parts';
  if (!labels.every((label) => LABEL.test(label))) return 'key_label';
  if (labels.some((label) => /^auth-/i.test(label))) return 'key_auth';
  if (!VERSION.test(version)) return 'key_version';
  if (resource.toLowerCase() === 'datasets') return 'key_datasets';
  return key.length > longest ? 'key_long' : null;
}

/** ASCII letters only, as the server folds keys. */
export function foldKey(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
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

/** Padded, without white space, and with no bits that decoding would drop. */
export function isStrictBase64(text: string): boolean {
  return BASE64.test(text) && btoa(atob(text)) === text;
}

/** Octets of Base64 when it is decoded. */
export function base64Octets(text: string): number {
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}

/** Octets in strict Base64. The arguments of one call are limited, so it goes by parts. */
export function toBase64(octets: Uint8Array): string {
  let latin1 = '';
  for (let at = 0; at < octets.length; at += 8192)
    latin1 += String.fromCharCode(...octets.subarray(at, at + 8192));
  return btoa(latin1);
}

export function textToBase64(text: string): string {
  return toBase64(new TextEncoder().encode(text));
}
