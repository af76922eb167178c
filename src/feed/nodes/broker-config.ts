/** The configuration of nats-server: its own file, and the file of those who may connect. */

import { pageSubject, STREAMS, SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { CONTROL_NAME, inboxPrefix } from '../ports/credentials.ts';

interface BrokerFiles {
  /** `host:port`. */
  readonly listen: string;
  /** Absolute paths. */
  readonly store: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Bounds of one server, whatever its clients do. */
const CONNECTIONS_MAX = 4_096;
const SUBSCRIPTIONS_MAX = 1_024;
/**
 * Of the account of a node, which has one connection with less than ten subscriptions. A broken connection may still be there, and
 * `uqrp doctor` makes another. Without it one stolen file takes the connections of the whole server.
 */
export const NODE_ACCOUNT_LIMITS = { connections: 4, subscriptions: 64 } as const;

/** `nats-server.conf`. `nodes.conf` stands beside it. */
export function brokerConfig({ listen, store, ca, cert, key }: BrokerFiles): string {
  return `# Made by "uqrp feed init". A cluster needs a block of its own: docs.nats.io, "clustering".
listen: ${JSON.stringify(listen)}
jetstream { store_dir: ${JSON.stringify(store)} }
max_connections: ${CONNECTIONS_MAX}
# Of one connection.
max_subscriptions: ${SUBSCRIPTIONS_MAX}
tls {
  cert_file: ${JSON.stringify(cert)}
  key_file: ${JSON.stringify(key)}
  ca_file: ${JSON.stringify(ca)}
  # Each end needs a certificate of this authority, besides its nkey.
  verify: true
}
include ./nodes.conf
`;
}

/** One end that may connect. */
interface BrokerUser {
  readonly name: string;
  /** Public nkey. */
  readonly nkey: string;
}

/** A node, and which of the accounts is its own: 0, 1, 2 and so on. */
export interface NodeUser extends BrokerUser {
  readonly account: number;
}

/** Holds the streams. */
const CONTROL_ACCOUNT = 'UQRP_CONTROL';
/**
 * Accounts without a node. When nats-server reads the file again, an account that is new gets what it imports as a service only at the next
 * time (seen in 2.9.10; the source of August 2026 reads so too); one that was there gets it at once. So a node is put into an account that was there.
 */
const SPARE_ACCOUNTS = 64;

/**
 * `nodes.conf`: control first, then an account for each node. "SIGHUP" makes nats-server read it again.
 *
 * Each node has an account of its own, because permissions alone do not bound it: the broker checks the subject of a request, and not the
 * subject that it wants its answer at. An empty answer at `$JS.API.STREAM.DELETE.…` would delete the stream, and genuine batches at
 * `uqrp.v1.live` would drown what the other nodes hear. Answers to another account stay in that account.
 */
export function usersConfig(control: BrokerUser, nodes: readonly NodeUser[]): string {
  const byAccount = new Map(nodes.map((node) => [node.account, node]));
  const accounts = Math.max(-1, ...byAccount.keys()) + 1 + SPARE_ACCOUNTS;
  return `# Made by "uqrp node add" and "uqrp node remove". After a change: kill -HUP nats-server
accounts {
  ${CONTROL_ACCOUNT} {
    jetstream: enabled
    exports: [
${sharedSubjects()
  .map(([kind, subject]) => `      { ${kind}: ${JSON.stringify(subject)} }`)
  .join('\n')}
    ]
    users: [
      # ${CONTROL_NAME}
      { nkey: ${control.nkey} }
    ]
  }
${Array.from({ length: accounts }, (_, i) => nodeAccount(i, byAccount.get(i))).join('')}}
`;
}

function nodeAccount(index: number, node: BrokerUser | undefined): string {
  const account = `UQRP_NODE_${index}`;
  if (node === undefined) return `  ${account} {}\n`;
  const { name, nkey } = node;
  const { publish, subscribe } = nodePermissions(name);
  const list = (subjects: readonly string[]): string =>
    subjects.map((subject) => JSON.stringify(subject)).join(', ');
  const imports = nodeImports(name).map(
    ([kind, subject]) =>
      `      { ${kind}: { account: ${CONTROL_ACCOUNT}, subject: ${JSON.stringify(subject)} } }`,
  );
  return `  ${account} {
    limits { max_connections: ${NODE_ACCOUNT_LIMITS.connections}, max_subscriptions: ${NODE_ACCOUNT_LIMITS.subscriptions} }
    users: [
      # ${name}
      { nkey: ${nkey}, permissions: {
        publish: { allow: [${list(publish)}] }
        subscribe: { allow: [${list(subscribe)}] }
      } }
    ]
    imports: [
${imports.join('\n')}
    ]
  }
`;
}

/**
 * What a node may do over the broker. Everything else is refused. Control and each node have an account: an account is a namespace of
 * subjects, so the table is both what crosses from one account to the other and what each node is permitted.
 */

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
function sharedSubjects(): Shared {
  return sharedWith('*');
}

/** Those that come into the account of one node. */
function nodeImports(name: string): Shared {
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
