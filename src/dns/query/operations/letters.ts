import { DATASETS_RESOURCE, PUBLIC_NAMESPACE } from '../../../protocol/names/labels.ts';
import { isCaseSensitive } from '../../../protocol/query/params.ts';
import type { Query } from '../../../protocol/query/query.ts';

/** Whether the answer depends on letter case (`b64-` labels). The packet cache ignores case, so it must not store these. */
export function dependsOnLetters({ namespace, resource, params }: Query): boolean {
  // Slugs and item keys have no capitals; a slug may begin like an encoded label.
  if (resource === DATASETS_RESOURCE) return false;
  return namespace === PUBLIC_NAMESPACE && params.some(isCaseSensitive);
}

/** The query with its `b64-` labels in the letter case of `qname`. */
export function withLetters(query: Query, qname: Uint8Array): Query {
  if (!dependsOnLetters(query)) return query;
  const labels = labelsOf(qname);
  const first = query.token === null ? 1 : 2;
  const params = query.params.map((label, i) => (isCaseSensitive(label) ? labels[first + i]! : label));
  return { ...query, params };
}

function labelsOf(qname: Uint8Array): readonly string[] {
  const labels: string[] = [];
  for (let at = 0; qname[at]! > 0; at += 1 + qname[at]!) {
    labels.push(Buffer.from(qname.subarray(at + 1, at + 1 + qname[at]!)).toString('latin1'));
  }
  return labels;
}
