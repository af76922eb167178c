/** The file of those who belong to a feed: `nodes.json`. It holds public keys only; `nodes.conf` is made from it. */
import { type BrokerUser, usersConfig } from './broker-config.ts';
import { CONTROL_NAME, isNodeName } from './names.ts';

export interface FeedNode extends BrokerUser {
  /** PEM: X25519 public key that the hourly keys for this node are encrypted to. */
  readonly encrypt: string;
}

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
  return { version, control, nodes };
}

function isNode(value: unknown): value is FeedNode {
  const { name, nkey, encrypt } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    typeof name === 'string' && isNodeName(name) && typeof nkey === 'string' && typeof encrypt === 'string'
  );
}

/** @returns null when there is a node of this name */
export function withNode(all: FeedNodes, node: FeedNode): FeedNodes | null {
  if (all.nodes.some(({ name }) => name === node.name)) return null;
  return { ...all, nodes: [...all.nodes, node] };
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
