/** The keys that nodes sign with, from `nodes.json`. */
import type { KeyObject } from 'node:crypto';
import { nkeyPublicKey } from './nkey-keys.ts';
import type { KeyOfNode } from './node-end.ts';

/** @param nodes as they are now: a node that was removed has no key from then on */
export function keyOfNodes(
  nodes: () => readonly { readonly name: string; readonly nkey: string }[],
): KeyOfNode {
  /** By nkey: decoding one takes longer than finding it. */
  let decoded = new Map<string, KeyObject | null>();
  return (name) => {
    const all = nodes();
    const nkey = all.find((node) => node.name === name)?.nkey;
    if (nkey === undefined) return null;
    const known = decoded.get(nkey);
    if (known !== undefined) return known;
    if (decoded.size > 2 * all.length) decoded = new Map();
    const key = nkeyPublicKey(nkey);
    decoded.set(nkey, key);
    return key;
  };
}
