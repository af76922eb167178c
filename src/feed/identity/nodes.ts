/** The file of those who belong to a feed: `nodes.json`. It holds public keys only; `nodes.conf` is made from it. */
import { type NodeUser, usersConfig } from './broker-config.ts';
import { CONTROL_NAME, isNodeName } from './names.ts';

export interface FeedNode extends NodeUser {
  /** PEM: X25519 public key that the hourly keys for this node are encrypted to. */
  readonly encrypt: string;
}

/** Far more than there are nodes: a damaged number must not make a file of gigabytes. */
const ACCOUNTS_MAX = 100_000;

export interface FeedNodes {
  readonly version: 1;
  /** Public nkey of the control side. */
  readonly control: string;
  readonly nodes: readonly FeedNode[];
}

export function printNodes(nodes: FeedNodes): string {
  return `${JSON.stringify(nodes, null, 2)}\n`;
}

/** @returns null for anything but a file of this version */
export function parseNodes(text: string): FeedNodes | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { version, control, nodes } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (version !== 1 || typeof control !== 'string' || !Array.isArray(nodes) || !nodes.every(isNode))
    return null;
  return { version, control, nodes: withAccounts(nodes) };
}

/** Files of releases before accounts of nodes have no numbers: there each node gets the next one. */
function withAccounts(
  nodes: readonly (Omit<FeedNode, 'account'> & { readonly account?: number })[],
): FeedNode[] {
  const all: FeedNode[] = [];
  for (const node of nodes) all.push({ ...node, account: node.account ?? freeAccount([...all, ...nodes]) });
  return all;
}

/** The lowest number that no node has. */
function freeAccount(nodes: readonly { readonly account?: number }[]): number {
  const taken = new Set(nodes.map(({ account }) => account));
  let free = 0;
  while (taken.has(free)) free++;
  return free;
}

function isNode(value: unknown): value is FeedNode {
  const { name, nkey, encrypt, account } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    isNodeName(name) &&
    typeof nkey === 'string' &&
    typeof encrypt === 'string' &&
    (account === undefined ||
      (Number.isInteger(account) && (account as number) >= 0 && (account as number) < ACCOUNTS_MAX))
  );
}

/** @returns null when there is a node of this name */
export function withNode(all: FeedNodes, node: Omit<FeedNode, 'account'>): FeedNodes | null {
  if (all.nodes.some(({ name }) => name === node.name)) return null;
  return { ...all, nodes: [...all.nodes, { ...node, account: freeAccount(all.nodes) }] };
}

/** @returns null when there is no node of this name */
export function withoutNode(all: FeedNodes, name: string): FeedNodes | null {
  const nodes = all.nodes.filter((node) => node.name !== name);
  return nodes.length === all.nodes.length ? null : { ...all, nodes };
}

/** `nodes.conf`. */
export function nodesConfig({ control, nodes }: FeedNodes): string {
  return usersConfig({ name: CONTROL_NAME, nkey: control }, nodes);
}
