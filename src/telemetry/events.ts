import { TLS_FAULTS } from '../core/tls-faults.ts';
import { TRANSPORTS, UDP_PATHS } from '../core/transport.ts';
import { FEED_FAULTS, FEED_STATES, VIEW_DISCARDS } from './vocabulary.ts';

/**
 * What a field may hold: a finite number, a boolean, the name of a variable of this program, a version number, or a member of the
 * given closed set. `request` is an id that this server made for a request (UUID), or null where the fault belongs to none.
 * There is no kind for other text.
 */
export type FieldKind = 'number' | 'boolean' | 'variable' | 'version' | 'request' | readonly string[];

interface EventRow {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, FieldKind>>;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Every line that the server can log. docs/OPERATIONS.md lists the names, and a test compares the two. */
export const EVENTS = {
  'config.unknown': {
    level: 'warn',
    message: 'a variable that begins with UQRP_ and means nothing: look for a misspelling',
    fields: { variable: 'variable' },
  },
  'data.narrowed': {
    level: 'warn',
    message: 'files of the data directory were open to other users, and are not any more',
    fields: { entries: 'number' },
  },
  'server.started': {
    level: 'info',
    message: 'everything listens',
    fields: { version: 'version', role: ['all', 'control', 'edge'], workers: 'number', seconds: 'number' },
  },
  'server.stopping': {
    level: 'info',
    message: 'stop accepting, finish what is in flight',
    fields: { signal: SIGNALS },
  },
  'server.stopped': { level: 'info', message: 'closed', fields: { seconds: 'number' } },
  'server.failed': { level: 'error', message: 'the process ends', fields: {} },
  'tls.loaded': {
    level: 'info',
    message: 'a certificate is in use',
    fields: { origin: ['operator', 'kept', 'made', 'renewed'], days: 'number' },
  },
  'tls.expiring': {
    level: 'warn',
    message: 'the certificate ends soon or has ended: replace it and send SIGHUP',
    fields: { days: 'number' },
  },
  'tls.failing': {
    level: 'error',
    message: 'the earlier certificate stays in use',
    fields: { reason: Object.values(TLS_FAULTS) },
  },
  'keys.loaded': { level: 'info', message: 'changed signing keys are in use', fields: { zones: 'number' } },
  'keys.stored': {
    level: 'info',
    message: 'the first signing keys of a zone went into the database',
    fields: { origin: ['made', 'imported'] },
  },
  'keys.waiting': {
    level: 'error',
    message: 'no signing keys yet, in the database or as a copy: nothing is served until they come',
    fields: {},
  },
  'keys.failing': { level: 'error', message: 'the earlier signing keys stay in use', fields: {} },
  'listener.failing': {
    level: 'error',
    message: 'a socket reports a fault',
    fields: { transport: [...TRANSPORTS, 'http'], worker: 'number' },
  },
  'udp.opened': {
    level: 'info',
    message: 'how packets over UDP come: by batches, or through the sockets of Node',
    fields: { path: UDP_PATHS },
  },
  'worker.exited': {
    level: 'error',
    message: 'a DNS worker ended and is started again',
    fields: { worker: 'number', restarts: 'number' },
  },
  'worker.failing': {
    level: 'error',
    message: 'a DNS worker could not start again; the next try follows',
    fields: { worker: 'number' },
  },
  'request.failed': {
    level: 'error',
    message:
      'a REST request failed because of a fault in the server; `request` is the X-Request-Id of the answer',
    fields: { request: 'request' },
  },
  'store.full': {
    level: 'error',
    message: 'the disk that holds the database is full: writes fail until there is room',
    fields: {},
  },
  'store.failing': { level: 'error', message: 'the database reports a fault', fields: {} },
  'sweeper.failing': { level: 'error', message: 'expired records could not be deleted', fields: {} },
  'outbound.exited': {
    level: 'error',
    message: 'the thread that webhooks leave through ended and is started again',
    fields: {},
  },
  'fanout.failing': { level: 'error', message: 'webhook deliveries could not be enqueued', fields: {} },
  'dispatcher.failing': {
    level: 'error',
    message: 'webhook deliveries could not be claimed or settled',
    fields: {},
  },
  'webhook.disabled': {
    level: 'warn',
    message: 'a webhook failed too often in a row and was disabled',
    fields: { mail: ['sent', 'failed', 'none'] },
  },
  'feed.state': {
    level: 'info',
    message: 'the edge view changed its state',
    fields: { state: FEED_STATES, seq: 'number' },
  },
  'feed.failing': {
    level: 'error',
    message: 'the edge view does not follow its source',
    fields: { reason: FEED_FAULTS, seconds: 'number' },
  },
  'view.discarded': {
    level: 'warn',
    message: 'the edge view could not be used and is built anew',
    fields: { reason: VIEW_DISCARDS },
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
    : K extends 'variable' | 'version'
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
