/** Subjects and streams of version 1. Permissions of nodes are written in these names. */
export const SUBJECTS = {
  /** Each batch at once. Written by the publisher alone. */
  live: 'uqrp.v1.live',
  /** The same bytes, stored in the stream. */
  log: 'uqrp.v1.log',
  /** Heartbeats. */
  head: 'uqrp.v1.head',
  /** Questions to control: a subject for each node, so that one cannot ask in the place of another. */
  get: 'uqrp.v1.get',
  /** Pages of a snapshot: a subject for each, which only the node knows that opened it. */
  page: 'uqrp.v1.page',
  /** What a node counted, and how it is: a subject for each node. */
  meter: 'uqrp.v1.meter',
  state: 'uqrp.v1.state',
  /** What a node asks of providers: a subject for each node. */
  ask: 'uqrp.v1.ask',
  /** What the command line asks control about nodes and feed. */
  status: 'uqrp.v1.status',
  /** What the command line tells control to do. */
  command: 'uqrp.v1.command',
  /** Hourly keys and secrets: a subject for each node. */
  keys: 'uqrp.v1.keys',
  /** Questions of nodes for their hourly keys, and for their secrets: a subject for each node. */
  askKeys: 'uqrp.v1.get.keys',
  /** The command line asks for a snapshot. Nodes may not. */
  makeSnapshot: 'uqrp.v1.make',
  askSecrets: 'uqrp.v1.get.secrets',
  /** Parts of snapshots, a name each. */
  chunks: 'uqrp.v1.snap',
} as const;

export const STREAMS = { feed: 'UQRP_FEED', chunks: 'UQRP_SNAP' } as const;

const CHUNK_NAME = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;

/** @throws RangeError for a name that is none: a wildcard would address other chunks */
export function chunkSubject(name: string): string {
  if (!CHUNK_NAME.test(name)) throw new RangeError('a chunk has a name of letters, digits, dots and hyphens');
  return `${SUBJECTS.chunks}.${name}`;
}

/** The subject of one node among those of `base`. @param node `*`: where control hears all nodes */
export function subjectOfNode(base: string, node: string): string {
  return `${base}.${node}`;
}

/** The node of a subject that `subjectOfNode` made: the broker lets a node use its own alone. */
export function nodeOfSubject(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1);
}

/** Where a node gets its keys. */
export function keysSubject(node: string): string {
  return `${SUBJECTS.keys}.${node}`;
}

/** Where the pages of an open snapshot are asked for. @param id hex digits */
export function pageSubject(id: string): string {
  return `${SUBJECTS.page}.${id}`;
}
