/** What the two variables of the feed mean together with the role: which end this process is, and with which credentials it connects. */

import { resolve } from 'node:path';
import { systemFiles } from '../../base/files.ts';
import {
  type ControlCredentials,
  CredentialsError,
  type FeedCredentials,
  isControl,
  isOfNode,
  type NodeCredentials,
  parseCredentials,
} from '../../feed/ports/credentials.ts';

export interface FeedEnd<C extends FeedCredentials> {
  /** `host:port`. */
  readonly servers: readonly string[];
  readonly credentials: C;
  /** The credentials file. `nodes.json` stands beside that of control. */
  readonly file: string;
}

/** A process is one end of the feed: the control side sends, a node receives. */
export type FeedSettings =
  | ({ readonly end: 'control' } & FeedEnd<ControlCredentials>)
  | ({ readonly end: 'node' } & FeedEnd<NodeCredentials>);

export interface FeedVariables {
  readonly UQRP_FEED_URL?: readonly string[] | null;
  readonly UQRP_FEED_CREDENTIALS?: string | null;
  readonly UQRP_NODE?: string | null;
}

interface FeedReading {
  readonly feed: FeedSettings | null;
  readonly faults: readonly string[];
}

const NONE: FeedReading = { feed: null, faults: [] };

/** Reads the credentials file. The faults name the variable and the mend, and nothing of the file's content. */
export function readFeed(values: FeedVariables, isEdge: boolean): FeedReading {
  const { UQRP_FEED_URL: url, UQRP_FEED_CREDENTIALS: path, UQRP_NODE: node } = values;
  if (path == null) {
    return url == null ? NONE : failed('UQRP_FEED_URL needs UQRP_FEED_CREDENTIALS, the file of this process');
  }
  const file = resolve(path);
  let credentials: FeedCredentials;
  try {
    credentials = parseCredentials(systemFiles.read(file).toString());
  } catch (error) {
    if (error instanceof CredentialsError) return failed(`UQRP_FEED_CREDENTIALS: ${error.message}`);
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    return failed(
      `UQRP_FEED_CREDENTIALS: the file cannot be read (${code}). Put it there, and let this user read it`,
    );
  }
  const servers = url ?? credentials.servers;
  if (isEdge) return nodeEnd(credentials, { servers, file }, node ?? null);
  if (isControl(credentials)) return { feed: { end: 'control', servers, credentials, file }, faults: [] };
  return failed(
    `UQRP_FEED_CREDENTIALS: the file is that of node ${credentials.name}. The control role needs control.creds, which "uqrp feed init" made`,
  );
}

/** Whether every user of this machine can read a file. A group may: Kubernetes gives secrets to the group of a pod. */
export function isOpenToAll(file: string): boolean {
  return ((systemFiles.facts(file)?.mode ?? 0) & 0o007) !== 0;
}

function nodeEnd(
  credentials: FeedCredentials,
  at: { readonly servers: readonly string[]; readonly file: string },
  node: string | null,
): FeedReading {
  if (!isOfNode(credentials)) {
    return failed(
      'UQRP_FEED_CREDENTIALS: the file is that of control, which can sign the feed. An edge needs the file that "uqrp node add" made for it',
    );
  }
  if (node !== null && node !== credentials.name) {
    return failed(
      `UQRP_NODE differs from ${credentials.name}, the name in UQRP_FEED_CREDENTIALS. Leave UQRP_NODE out, or take the file of the other node`,
    );
  }
  return { feed: { end: 'node', ...at, credentials }, faults: [] };
}

function failed(fault: string): FeedReading {
  return { feed: null, faults: [fault] };
}
