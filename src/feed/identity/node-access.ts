/**
 * What a node may do over the broker. Everything else is refused. Control and nodes have an account each: an account is a namespace of
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

/** Subjects of control's account that nodes reach: `stream` for what they hear, `service` for what they send. */
export function sharedSubjects(): readonly (readonly ['stream' | 'service', string])[] {
  return ACCESS.map(({ node, subject }) => [
    node === 'hears' ? 'stream' : 'service',
    subject.replace('<node>', '*'),
  ]);
}

/** Of the user of one node, within the account of the nodes. */
export function nodePermissions(name: string): {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
} {
  const subjects = (of: Access['node']): string[] =>
    ACCESS.filter(({ node }) => node === of).map(({ subject }) => subject.replace('<node>', name));
  return { publish: subjects('sends'), subscribe: [...subjects('hears'), `${inboxPrefix(name)}.>`] };
}
