/**
 * What a node may do over the broker. Everything else is refused. Control and each node have an account: an account is a namespace of
 * subjects, so the table is both what crosses from one account to the other and what each node is permitted.
 */
import { pageSubject, STREAMS, SUBJECTS, subjectOfNode } from '../bus/subjects.ts';
import { inboxPrefix } from './names.ts';

interface Access {
  /** `hears`: what control publishes. `sends`: what control receives, and may answer. */
  readonly node: 'hears' | 'sends';
  /** `<node>` stands for the name of the node. */
  readonly subject: string;
}

const ACCESS: readonly Access[] = [
  { node: 'hears', subject: SUBJECTS.live },
  { node: 'hears', subject: SUBJECTS.head },
  { node: 'hears', subject: `${SUBJECTS.keys}.<node>` },
  { node: 'sends', subject: subjectOfNode(SUBJECTS.get, '<node>') },
  { node: 'sends', subject: subjectOfNode(SUBJECTS.askKeys, '<node>') },
  { node: 'sends', subject: subjectOfNode(SUBJECTS.askSecrets, '<node>') },
  // The last part is the number of the question that opened the snapshot.
  { node: 'sends', subject: pageSubject('*') },
  { node: 'sends', subject: `${SUBJECTS.meter}.<node>` },
  { node: 'sends', subject: `${SUBJECTS.state}.<node>` },
  { node: 'sends', subject: `${SUBJECTS.ask}.<node>` },
  // Direct gets read one message. Consumers would be state of the node in the broker.
  { node: 'sends', subject: `$JS.API.DIRECT.GET.${STREAMS.feed}` },
  { node: 'sends', subject: `$JS.API.DIRECT.GET.${STREAMS.feed}.${SUBJECTS.log}` },
  { node: 'sends', subject: `$JS.API.DIRECT.GET.${STREAMS.chunks}.${SUBJECTS.chunks}.>` },
];

/** `stream` for what a node hears, `service` for what it sends. */
type Shared = readonly (readonly ['stream' | 'service', string])[];

function sharedWith(node: string): Shared {
  return ACCESS.map((row) => [
    row.node === 'hears' ? 'stream' : 'service',
    row.subject.replace('<node>', node),
  ]);
}

/** Subjects of control's account that nodes reach. */
export function sharedSubjects(): Shared {
  return sharedWith('*');
}

/** Those that come into the account of one node. */
export function nodeImports(name: string): Shared {
  return sharedWith(name);
}

/** Of the user of one node, within its account. */
export function nodePermissions(name: string): {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
} {
  const subjects = (of: 'stream' | 'service'): string[] =>
    nodeImports(name).flatMap(([kind, subject]) => (kind === of ? [subject] : []));
  return { publish: subjects('service'), subscribe: [...subjects('stream'), `${inboxPrefix(name)}.>`] };
}
