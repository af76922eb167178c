/** The file of those who belong to a feed: `nodes.json`. It holds public keys only; `nodes.conf` is made from it. */

import { createPublicKey } from 'node:crypto';
import { systemFiles } from '../../base/files.ts';
import { every } from '../../base/lifecycle/loop.ts';
import { type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import { nkeyPublicKey } from '../bus/nats/nkey.ts';
import { type FeedVerifier, feedVerifier } from '../message/keys.ts';
import type { VerifierOf } from '../message/message.ts';
import { CONTROL_NAME, CredentialsError, isNodeName } from '../ports/credentials.ts';
import { type NodeUser, usersConfig } from './broker-config.ts';

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

/** `nodes.json` as it is now: read again when it changes. */

/** The nodes of the feed at present. */
export interface NodeList {
  current(): readonly FeedNode[];
  /** Called after each change. @returns ends it */
  onChange(listener: () => void): () => void;
}

export interface WatchedNodes extends NodeList {
  stop(): Promise<void>;
}

interface WatchNodesOptions {
  readonly path: string;
  /** The file cannot be read any more, or is damaged. The nodes that were read before stay. Called once for each such content. */
  readonly onDamaged: (error: unknown) => void;
  readonly timers?: Timers | undefined;
  /** Reads the file. @throws system errors */
  readonly read?: (path: string) => string;
}

const POLL_MS = 1_000;

/** @throws CredentialsError when the file cannot be used at the start */
export function watchNodes(options: WatchNodesOptions): WatchedNodes {
  const { path, onDamaged, timers = wholeSecondTimers, read = readText } = options;
  const listeners = new Set<() => void>();
  let mark = markOf(path);
  /** Reported once, however often it fails. */
  let tried = mark;
  let nodes = readNodes(path, read).nodes;

  const watch = every({
    ms: POLL_MS,
    timers,
    task() {
      const found = markOf(path);
      if (found === mark) return;
      const isNew = found !== tried;
      tried = found;
      try {
        nodes = readNodes(path, read).nodes;
      } catch (error) {
        // Tried again: the file may be whole, and this process out of descriptors. A removed node must not stay.
        if (isNew) throw error;
        return;
      }
      mark = found;
      for (const listener of listeners) listener();
    },
    onError: onDamaged,
  });

  return {
    current: () => nodes,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => watch.stop(),
  };
}

/** Changes with each replacement of the file. Without a file it is a mark too. */
function markOf(path: string): string {
  const found = systemFiles.facts(path);
  return found === null ? 'none' : `${found.inode} ${found.changedMs} ${found.octets}`;
}

function readText(path: string): string {
  return systemFiles.read(path).toString();
}

function readNodes(path: string, read: (path: string) => string): FeedNodes {
  let text: string;
  try {
    text = read(path);
  } catch (error) {
    throw damaged(path, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  const nodes = parseNodes(text);
  if (nodes === null) throw damaged(path, 'is not a list of nodes');
  for (const { name, encrypt } of nodes.nodes) {
    if (!isX25519(encrypt)) throw damaged(path, `has a damaged key in "encrypt" of ${name}`);
  }
  return nodes;
}

function isX25519(pem: string): boolean {
  try {
    return createPublicKey(pem).asymmetricKeyType === 'x25519';
  } catch {
    return false;
  }
}

function damaged(path: string, what: string): CredentialsError {
  return new CredentialsError(
    `${path} ${what}. Restore it from a copy, or make the nodes again with "uqrp node add".`,
  );
}

/** The keys that senders sign with. */

/**
 * @param nodes as they are now: a node that was removed has no key from then on
 * @param control of the keys that sign the feed: other control processes and the command line ask too
 */
export function verifiersOf(
  nodes: () => readonly { readonly name: string; readonly nkey: string }[],
  control: FeedVerifier,
): VerifierOf {
  /** By nkey: decoding one takes longer than finding it. */
  let decoded = new Map<string, FeedVerifier | null>();
  return (name) => {
    if (name === CONTROL_NAME) return control;
    const all = nodes();
    const nkey = all.find((node) => node.name === name)?.nkey;
    if (nkey === undefined) return null;
    const known = decoded.get(nkey);
    if (known !== undefined) return known;
    if (decoded.size > 2 * all.length) decoded = new Map();
    const key = nkeyPublicKey(nkey);
    const verifier = key && feedVerifier([key]);
    decoded.set(nkey, verifier);
    return verifier;
  };
}
