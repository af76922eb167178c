/** The filters of the audit log, as they stand in the address. */
import type { AuditFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { AUDIT_ACTIONS } from '../../../../src/protocol/audit.ts';
import { keyFault } from '../records/record-rules.ts';

/** Octets of the longest key under the shortest zone. */
const KEY_MAX = 253;

export const AUDIT_FILTERS = ['actor', 'action', 'namespace', 'key', 'since', 'until'] as const;

export type AuditTexts = Readonly<Record<(typeof AUDIT_FILTERS)[number], string>>;

/** Actions with those of their kind together: `record.*`, then each. */
export const ACTION_CHOICES: readonly string[] = [...new Set(AUDIT_ACTIONS.map(groupOf))].flatMap((group) => {
  const actions = AUDIT_ACTIONS.filter((action) => groupOf(action) === group);
  return actions.length === 1 ? actions : [`${group}.*`, ...actions];
});

function groupOf(action: string): string {
  return action.slice(0, action.indexOf('.'));
}

/** What is not understood is left out: somebody may have typed it into the address. */
export function auditTexts(query: URLSearchParams): AuditTexts {
  const text = (name: string): string => (query.get(name) ?? '').trim().slice(0, 255);
  const time = (name: string): string => {
    const at = Date.parse(text(name));
    return Number.isNaN(at) ? '' : new Date(at).toISOString();
  };
  const action = text('action');
  return {
    actor: text('actor'),
    action: ACTION_CHOICES.includes(action) ? action : '',
    namespace: text('namespace'),
    key: text('key').toLowerCase(),
    since: time('since'),
    until: time('until'),
  };
}

/** Whether a key is being typed still: the API takes a whole one. @param text in lower case */
export function isPartOfKey(text: string): boolean {
  return text !== '' && keyFault(text, KEY_MAX) !== null;
}

/** The question to the API. */
export function auditFilter(texts: AuditTexts): AuditFilter {
  const { key, ...rest } = texts;
  const asked = { ...rest, key: isPartOfKey(key) ? '' : key };
  return Object.fromEntries(Object.entries(asked).filter(([, text]) => text !== ''));
}
