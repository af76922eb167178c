/** `nodes.json` as it is now: read again when it changes. */
import { createPublicKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { every } from '../../base/lifecycle/every.ts';
import { type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import { CredentialsError } from './credentials.ts';
import { type FeedNode, type FeedNodes, parseNodes } from './nodes.ts';

/** The nodes of the feed at present. */
export interface NodeList {
  current(): readonly FeedNode[];
  /** Called after each change. @returns ends it */
  onChange(listener: () => void): () => void;
}

export interface WatchedNodes extends NodeList {
  stop(): Promise<void>;
}

export interface WatchNodesOptions {
  readonly path: string;
  /** The file cannot be read any more, or is damaged. The nodes that were read before stay. Called once for each such content. */
  readonly onDamaged: (error: unknown) => void;
  readonly timers?: Timers;
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
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? 'none' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
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
