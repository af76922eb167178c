import { TLS_FAULTS } from '../../base/network/tls.ts';
import { TRANSPORTS, UDP_PATHS, XDP_FAULTS, XDP_MODES } from '../../base/network/transport.ts';
import { FEED_REFUSALS } from '../../feed/ports/refusal.ts';
import {
  ACCOUNTING_PARTS,
  FEED_FAULTS,
  FEED_MENDS,
  FEED_STATES,
  KEY_ROLES,
  PUBLISHER_FAULTS,
  ROLLOVER_STEPS,
  ROLLOVER_WAITS,
  STORE_PATHS,
  TRANSPARENCY_STATES,
  VIEW_DISCARDS,
  VIEW_PATHS,
} from './vocabulary.ts';

/**
 * What a field may hold: a finite number, a boolean, the name of a variable of this program, a version number, or a member of the
 * given closed set, of which null is a member where the field may be empty. `node` is the name that the operator gave to a node. `request` is an id that this server made for a request (UUID), or null where the fault belongs to none.
 * Other text is impossible.
 */
export type FieldKind =
  | 'number'
  | 'boolean'
  | 'variable'
  | 'version'
  | 'node'
  | 'request'
  | readonly (string | null)[];

interface EventRow {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, FieldKind>>;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Every line that the server can log. docs/operations/events.md lists the names, and a test compares the two. */
export const EVENTS = {
  'config.unknown': {
    level: 'warn',
    message: 'a variable that begins with UQRP_ is not a variable of this program. Look for a misspelling',
    fields: { variable: 'variable' },
  },
  'credentials.open': {
    level: 'warn',
    message:
      'every user of this machine can read the file in UQRP_FEED_CREDENTIALS, and be this end of the feed. Set its mode to 0600',
    fields: {},
  },
  'data.narrowed': {
    level: 'warn',
    message: 'files of the data directory were open to other users. Their modes were set to 0600 and 0700',
    fields: { entries: 'number' },
  },
  'server.started': {
    level: 'info',
    message: 'the server has started: all ports listen',
    fields: { version: 'version', role: ['all', 'control', 'edge'], workers: 'number', seconds: 'number' },
  },
  'server.stopping': {
    level: 'info',
    message: 'the server stops: it finishes the requests in flight',
    fields: { signal: SIGNALS },
  },
  'server.stopped': { level: 'info', message: 'the server has stopped', fields: { seconds: 'number' } },
  'server.failed': {
    level: 'error',
    message: 'the server could not start or run on. The error says why; the process ends',
    fields: {},
  },
  'tls.loaded': {
    level: 'info',
    message: 'a TLS certificate was loaded',
    fields: { origin: ['operator', 'kept', 'made', 'renewed'], days: 'number' },
  },
  'tls.expiring': {
    level: 'warn',
    message: 'the TLS certificate ends soon or has ended. Replace it and send SIGHUP',
    fields: { days: 'number' },
  },
  'tls.failing': {
    level: 'error',
    message: 'the TLS certificate could not be loaded. The earlier one stays in use',
    fields: { reason: Object.values(TLS_FAULTS) },
  },
  'keys.loaded': { level: 'info', message: 'changed signing keys were loaded', fields: { zones: 'number' } },
  'keys.stored': {
    level: 'info',
    message: 'the first signing keys of a zone were stored in the database',
    fields: { origin: ['made', 'imported'] },
  },
  'keys.waiting': {
    level: 'error',
    message:
      'there are no signing keys, from control or as a copy. Start a process with the role control; DNS is served once they exist',
    fields: {},
  },
  'keys.copy_failing': {
    level: 'error',
    message:
      'the copy of the keys of this node could not be used or written. Without one, the node waits for control at its next start',
    fields: {},
  },
  'keys.failing': {
    level: 'error',
    message: 'changed signing keys could not be loaded. The earlier ones stay in use',
    fields: {},
  },
  'keys.rolled': {
    level: 'info',
    message:
      'a step of a key rollover was taken. Make a backup: an older one lacks the new key, or signs with one that is gone',
    fields: { role: KEY_ROLES, step: ROLLOVER_STEPS, key_tag: 'number' },
  },
  'keys.rollover_waiting': {
    level: 'warn',
    message:
      'a step of a key rollover is due and waits. parent: set the DS records that "uqrp dnssec ds" prints, and no others. resolvers: none of UQRP_RESOLVERS answers. nodes: start the nodes that "uqrp node status" calls late, or remove them; one that was started again counts after an hour',
    fields: { role: KEY_ROLES, step: ROLLOVER_STEPS, reason: ROLLOVER_WAITS },
  },
  'transparency.state': {
    level: 'warn',
    message: 'the transparency log has come into another state',
    fields: { state: TRANSPARENCY_STATES, entries: 'number', signed: 'number', published: 'number' },
  },
  'transparency.failing': {
    level: 'error',
    message: 'the transparency log could not be signed or published. It is tried again',
    fields: {},
  },
  'keys.rollover_failing': {
    level: 'error',
    message: 'the keys of a zone could not be looked at or rolled. It is tried again within an hour',
    fields: {},
  },
  'listener.failing': {
    level: 'error',
    message: 'a listening socket reported an error',
    fields: { transport: [...TRANSPORTS, 'http'], worker: 'number' },
  },
  'accounting.failing': {
    level: 'error',
    message:
      'what this node counted could not be sent to the database or written to disk. It is tried again; counts are kept',
    fields: { part: ACCOUNTING_PARTS },
  },
  'udp.opened': {
    level: 'info',
    message: 'packets over UDP are received in batches, or through the sockets of Node',
    fields: { path: UDP_PATHS },
  },
  'xdp.attached': {
    level: 'warn',
    message:
      'UDP packets of a queue are received below the sockets. The firewall of this host, its connection tracking and tcpdump do not see them',
    fields: { worker: 'number', interface: 'number', mode: XDP_MODES },
  },
  'xdp.refused': {
    level: 'warn',
    message:
      'UDP packets cannot be received below the sockets. The sockets receive them, and it is tried again',
    fields: { worker: 'number', interface: 'number', reason: XDP_FAULTS },
  },
  'xdp.detached': {
    level: 'warn',
    message:
      'UDP packets are no longer received below the sockets. The sockets receive them, and it is tried again',
    fields: { worker: 'number', interface: 'number', reason: XDP_FAULTS },
  },
  'worker.exited': {
    level: 'error',
    message: 'a DNS worker ended. Another one is started',
    fields: { worker: 'number', restarts: 'number' },
  },
  'worker.failing': {
    level: 'error',
    message: 'a DNS worker could not be started. It is tried again',
    fields: { worker: 'number' },
  },
  'request.failed': {
    level: 'error',
    message:
      'a REST request failed because of a fault in the server. `request` is the X-Request-Id of the answer',
    fields: { request: 'request' },
  },
  'store.full': {
    level: 'error',
    message:
      'the disk of the database is full. Writes fail until there is space. `path` is below UQRP_DATA_DIR, null for PostgreSQL; `free` in octets',
    fields: { path: STORE_PATHS, free: 'number' },
  },
  'store.waiting': {
    level: 'error',
    message:
      'the database does not answer. The start waits for it and goes on by itself; check UQRP_DATABASE_URL and that PostgreSQL runs',
    fields: {},
  },
  'store.failing': { level: 'error', message: 'the database reported an error', fields: {} },
  'store.unerased': {
    level: 'error',
    message:
      'another process reads the database file without an end. Until it stops, deleted data stays in uqrp.sqlite-wal, which grows: end it, or wait where it is a backup. `octets` of that file',
    fields: { seconds: 'number', octets: 'number' },
  },
  'sweeper.failing': {
    level: 'error',
    message: 'expired records could not be deleted. It is tried again',
    fields: {},
  },
  'outbound.exited': {
    level: 'error',
    message: 'a thread that sends webhooks ended. Another one is started',
    fields: {},
  },
  'fanout.failing': {
    level: 'error',
    message: 'webhook deliveries could not be enqueued. It is tried again',
    fields: {},
  },
  'dispatcher.failing': {
    level: 'error',
    message: 'webhook deliveries could not be leased or finished. It is tried again',
    fields: {},
  },
  'invitation.mail_lost': {
    level: 'warn',
    message:
      'a mail with an invitation was not sent. An owner of the organization can invite the address again',
    fields: { reason: ['refused', 'overload'] },
  },
  'signin.mail_lost': {
    level: 'warn',
    message: 'a mail with a sign-in code was not sent. The user can ask for another one',
    fields: { reason: ['refused', 'overload'] },
  },
  'notices.failing': {
    level: 'warn',
    message: 'a mail to the owner of a disabled webhook was not taken. It is tried again',
    fields: {},
  },
  'webhook.disabled': {
    level: 'warn',
    message:
      'a webhook failed too often in a row and was disabled (failures), or an account was moved to a tier that allows fewer webhooks (tier). The owner gets a mail where mail is configured',
    fields: { reason: ['failures', 'tier'], mail: ['sent', 'failed', 'none'] },
  },
  'feed.state': {
    level: 'info',
    message: 'the edge view changed its state',
    fields: { state: FEED_STATES, seq: 'number' },
  },
  'feed.failing': {
    level: 'error',
    message:
      'the edge view is not up to date: changes cannot be read or applied. DNS is answered from the view as it is',
    fields: { reason: FEED_FAULTS, seconds: 'number', path: VIEW_PATHS, free: 'number' },
  },
  'feed.connection': {
    level: 'warn',
    message: 'the connection to the broker of the feed was made or lost. A lost one is made again',
    fields: { state: ['connected', 'disconnected'] },
  },
  'feed.broker_failing': {
    level: 'error',
    message:
      'the broker cannot be reached, or refused something. Check UQRP_FEED_URL, that nats-server runs, and that it knows this process (nodes.conf, then SIGHUP)',
    fields: {},
  },
  'feed.nodes_failing': {
    level: 'error',
    message:
      'nodes.json, beside the credentials of control, is missing or damaged. The nodes that it had stay. Restore it from a copy',
    fields: {},
  },
  'feed.refused': {
    level: 'error',
    message: 'a message of the feed was not used. The edge view stays as it is and serves on',
    fields: { reason: FEED_REFUSALS, mend: FEED_MENDS },
  },
  'feed.node_flooding': {
    level: 'error',
    message:
      'a node sends more than an honest one does, and what is beyond its budget is dropped. Its machine or credentials may be stolen: see "A node was stolen" in docs/NODES.md',
    fields: { node: 'node' },
  },
  'feed.exchange_failing': {
    level: 'error',
    message:
      'what a node sent could not be stored or answered, or a state could not be sent. It is repeated. Check the database',
    fields: {},
  },
  'feed.publishing': {
    level: 'info',
    message: 'this process sends the changes to the nodes, or has left it to another one',
    fields: { state: ['leading', 'stepped_back'] },
  },
  'feed.publisher_failing': {
    level: 'error',
    message:
      'changes could not be published as they should. It is tried again; docs/operations/events.md says what each reason means',
    fields: { reason: PUBLISHER_FAULTS },
  },
  'feed.snapshot': {
    level: 'info',
    message: 'a snapshot of the feed was made',
    fields: { seq: 'number', octets: 'number', seconds: 'number' },
  },
  'feed.snapshot_failing': {
    level: 'error',
    message:
      'a snapshot of the feed could not be made. It is tried again; until then new nodes take the one before, or rows of the database',
    fields: {},
  },
  'feed.downloaded': {
    level: 'info',
    message: 'a snapshot of the feed was downloaded and verified',
    fields: { seq: 'number', octets: 'number' },
  },
  'feed.file_failing': {
    level: 'error',
    message:
      'a file of control (country database or exchange map) could not be put into the data directory. The one before stays in use',
    fields: {},
  },
  'view.waiting': {
    level: 'error',
    message:
      'this node has no view yet, so it does not answer DNS. It waits for control, over the broker in UQRP_FEED_URL; see that both run',
    fields: {},
  },
  'view.discarded': {
    level: 'warn',
    message: 'the files of the edge view could not be used. The view is built again',
    fields: { reason: VIEW_DISCARDS },
  },
  'store.new_epoch': {
    level: 'error',
    message:
      'the change log has a new epoch: the database was restored, or went on at another server after a failover. Acknowledged changes after seq are lost if that server lacked them, revocations of tokens among them. Every node builds its view again',
    fields: { seq: 'number', lost: 'number' },
  },
  'store.state': {
    level: 'warn',
    message: 'the database became reachable or unreachable',
    fields: { state: ['up', 'down'] },
  },
} as const satisfies Readonly<Record<string, EventRow>>;

export type EventName = keyof typeof EVENTS;

type ValueOfKind<K> = K extends 'number'
  ? number
  : K extends 'boolean'
    ? boolean
    : K extends 'variable' | 'version' | 'node'
      ? string
      : K extends 'request'
        ? string | null
        : K extends readonly (infer M)[]
          ? M
          : never;

/** The fields of one event: all of them, and nothing else. */
export type FieldsOf<E extends EventName> = {
  readonly [F in keyof (typeof EVENTS)[E]['fields']]: ValueOfKind<(typeof EVENTS)[E]['fields'][F]>;
};
