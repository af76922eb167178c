import type { MessagePort } from 'node:worker_threads';
import type { NameServer } from '../../core/name-server.ts';
import type { CertificatePair } from '../../core/tls.ts';
import type { Http2Choice, Transport, UdpChoice, UdpPath } from '../../core/transport.ts';
import type { KeySetData } from '../dnssec/keys/key-set.ts';
import type { SigningMode } from '../dnssec/signing/signer.ts';
import type { FeedName } from '../services/providers/sources/feeds.ts';

/** Ports in use; 0 in a request means any free one. */
export interface EdgePorts {
  /** UDP and TCP. */
  readonly dns: number;
  readonly dot: number;
  readonly doh: number;
}

/** What one worker thread needs. Plain data: it is copied into the thread, the shared buffers aside. */
export interface WorkerSettings {
  /** Number of this worker, from 0. */
  readonly worker: number;
  readonly host: string;
  readonly ports: EdgePorts;
  readonly tls: CertificatePair;
  /** 48 octets, the same for all workers, so that a TLS session resumes on any of them. */
  readonly ticketKeys: Uint8Array;
  readonly zones: readonly string[];
  readonly nameServers: readonly NameServer[];
  readonly signing: SigningMode;
  /** Of each zone; none where answers are not signed. */
  readonly keys: readonly KeySetData[];
  /** What the node calls itself. */
  readonly nodeName: string;
  /** See `AccessSettings`. */
  readonly sync: boolean;
  readonly demo: boolean;
  /** Whether `btc` answers. */
  readonly btc: boolean;
  /** Where databases of addresses may be, in order of preference. */
  readonly geoip: readonly string[];
  /** The table of places, see `loadPlaces`. */
  readonly places: SharedArrayBuffer;
  readonly viewPath: string;
  readonly dataDir: string;
  /** The port to the provider client of the main thread; it moves into the worker. */
  readonly providers: MessagePort;
  /** Feeds that have a provider. */
  readonly feeds: readonly FeedName[];
  readonly freshness: SharedArrayBuffer;
  /** Counters, one row a worker. */
  readonly stats: SharedArrayBuffer;
  /** What the secrets of server cookies are derived from: the same on all nodes of a service. */
  readonly cookieKey: Uint8Array;
  /** UDP replies a second of one class to one network; 0 switches off every limit by address, for load tests. */
  readonly rate: number;
  /** Whether packets over UDP may come by batches, through native code. */
  readonly udp: UdpChoice;
  readonly http2: Http2Choice;
  /** Open connections by address; see `createConnectionMemory`. */
  readonly connections: SharedArrayBuffer;
  /** Counts of those limits, shared by all workers; see `createRateMemory`. */
  readonly rates: SharedArrayBuffer;
}

/** What changes while a worker runs. */
export type LiveSettings = Pick<WorkerSettings, 'tls' | 'ticketKeys' | 'keys'>;

export type ToWorker =
  /** Answered by `accepted` or `refused` with the same id. Either all of it comes into use or none. */
  | { readonly type: 'change'; readonly id: number; readonly settings: Partial<LiveSettings> }
  | { readonly type: 'stop' };

export interface Listening {
  readonly type: 'listening';
  readonly ports: EdgePorts;
  readonly udp: UdpPath;
}

/** The worker could not start. `code` is the system's error name, such as EADDRINUSE. */
export interface StartFailure {
  readonly type: 'failed';
  readonly code: string;
  /** Null when the reason was not a port. */
  readonly listener: { readonly transport: Transport; readonly port: number } | null;
}

/** `refused`: the worker goes on with the settings that it has. */
export interface Answer {
  readonly type: 'accepted' | 'refused';
  readonly id: number;
}

export type FromWorker =
  | Listening
  | StartFailure
  | Answer
  /** A socket reported an error while serving. */
  | { readonly type: 'fault'; readonly transport: Transport };
