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

/** What a query adds to a key: `get.`, `auth-` with a token of 56 letters and a dot, and the dot before the zone. */
const AROUND = 'get.'.length + AUTH_PREFIX.length + 56 + 1 + 1;

const KEY_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';

/** A key in any case. The longest key depends on the zones: `recordKeyMax`. */
export const RECORD_KEY_SCHEMA: Schema = {
  type: 'string',
  pattern: `^(?:${KEY_LABEL}\\.){2,}[vV][1-9][0-9]{0,61}$`,
  maxLength: QUERY_NAME_MAX - AROUND - 1,
  not: { pattern: '(?:^|\\.)[aA][uU][tT][hH]-' },
  description:
    '[<params>.]<resource>.<namespace>.<version>, in any case; `limits.record_key` of GET /meta is the longest',
  examples: ['greeting.acme.v1'],
};

/** The longest key that can be queried with a token. @param zoneLength letters of the longest zone */
export function recordKeyMax(zoneLength: number): number {
  return QUERY_NAME_MAX - AROUND - zoneLength;
}

/**
 * Parses the key of a record write, in any case. Returns the key, or one message that says what is wrong.
 * @param zoneLength letters of the longest zone: a query with a token must fit into a name for every accepted key
 */
export function parseRecordKey(text: string, zoneLength: number): RecordKey | string {
  const key = foldCase(text);
  const labels = key.split('.');
  if (labels.length < 3) return 'key must be [<params>.]<resource>.<namespace>.<version>';
  for (const label of labels) {
    if (!isLabel(label)) return 'key has a label that is not 1 to 63 letters, digits or inner hyphens';
    if (label.startsWith(AUTH_PREFIX)) return 'key must not contain a label starting with auth-';
  }
  const version = labels[labels.length - 1]!;
  const namespace = labels[labels.length - 2]!;
  const resource = labels[labels.length - 3]!;
  if (!isVersion(version)) {
    if (isOperation(labels[0]!)) return 'key must be a query name without its operation, token and zone';
    return 'key must end in a version of the form v[1-9][0-9]*';
  }
  if (resource === DATASETS_RESOURCE) return 'key uses the reserved resource datasets';
  if (namespace === PUBLIC_NAMESPACE && (labels[0] === 'manifest' || labels[0] === 'identity')) {
    return 'key is reserved';
  }
  const room = recordKeyMax(zoneLength);
  if (key.length > room) return `key is longer than ${room} characters`;
  return { key, resource, namespace, version };
}
