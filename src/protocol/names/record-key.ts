import type { Schema } from '../input/schema.ts';
import {
  AUTH_PREFIX,
  DATASETS_RESOURCE,
  foldCase,
  isLabel,
  isVersion,
  PUBLIC_NAMESPACE,
  QUERY_NAME_MAX,
} from './labels.ts';
import { isOperation } from './query-name.ts';

export interface RecordKey {
  readonly key: string;
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
}

/** Why no record may be written under a key. */
export type KeyFault = keyof typeof MESSAGES;

const MESSAGES = {
  parts: 'key must be [<params>.]<resource>.<namespace>.<version>',
  label: 'key has a label that is not 1 to 63 letters, digits or inner hyphens',
  auth: 'key must not contain a label starting with auth-',
  operation: 'key must be a query name without its operation, token and zone',
  version: 'key must end in a version of the form v[1-9][0-9]*',
  datasets: 'key uses the reserved resource datasets',
  reserved: 'key is reserved',
  long: 'key is longer than',
} as const;

/** What a query adds to a key: `get.`, `auth-` with a token of 56 letters and a dot, and the dot before the zone. */
const AROUND = 67;

/** A key in any case. The longest key depends on the zones: `recordKeyMax`. */
export const RECORD_KEY_SCHEMA: Schema = {
  type: 'string',
  pattern: '^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.){2,}[vV][1-9][0-9]{0,61}$',
  maxLength: 185, // `recordKeyMax` of a zone of one letter
  not: { pattern: '(?:^|\\.)[aA][uU][tT][hH]-' },
  description:
    '[<params>.]<resource>.<namespace>.<version>, in any case; `limits.record_key` of GET /meta is the longest',
  examples: ['greeting.acme.v1'],
};

/** The longest key that can be queried with a token. @param zoneLength letters of the longest zone */
export function recordKeyMax(zoneLength: number): number {
  return QUERY_NAME_MAX - AROUND - zoneLength;
}

/** Reads the key of a record write, in any case. @param longest `recordKeyMax`, which is `limits.record_key` of GET /meta */
export function readRecordKey(text: string, longest: number): RecordKey | KeyFault {
  const key = foldCase(text);
  const labels = key.split('.');
  if (labels.length < 3) return 'parts';
  for (const label of labels) {
    if (!isLabel(label)) return 'label';
    if (label.startsWith(AUTH_PREFIX)) return 'auth';
  }
  const [resource = '', namespace = '', version = ''] = labels.slice(-3);
  if (!isVersion(version)) return isOperation(labels[0]!) ? 'operation' : 'version';
  if (resource === DATASETS_RESOURCE) return 'datasets';
  if (namespace === PUBLIC_NAMESPACE && (labels[0] === 'manifest' || labels[0] === 'identity'))
    return 'reserved';
  return key.length > longest ? 'long' : { key, resource, namespace, version };
}

/**
 * `readRecordKey` with one message that says what is wrong.
 * @param zoneLength letters of the longest zone: a query with a token must fit into a name for every accepted key
 */
export function parseRecordKey(text: string, zoneLength: number): RecordKey | string {
  const longest = recordKeyMax(zoneLength);
  const read = readRecordKey(text, longest);
  if (typeof read !== 'string') return read;
  return read === 'long' ? `${MESSAGES.long} ${longest} characters` : MESSAGES[read];
}
