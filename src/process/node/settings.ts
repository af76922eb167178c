import type { MessagePort } from 'node:worker_threads';
import { isEveryAddress, type NameServer } from '../../base/network/address.ts';
import type { CertificatePair } from '../../base/network/tls.ts';
import type { Transport, UdpChoice, UdpPath, XdpChange, XdpMode } from '../../base/network/transport.ts';
import type { Clock } from '../../base/time.ts';
import { readKeySet } from '../../dns/dnssec/key-set.ts';
import { isPresigned, type NodeKeySetData, readPresignedSet } from '../../dns/dnssec/node-key-set.ts';
import { nsecRdata } from '../../dns/dnssec/nsec.ts';
import { makePresignedSigner, makeSigner, type Signer, type SigningMode } from '../../dns/dnssec/signer.ts';
import type { HttpReply } from '../../dns/doh/request.ts';
import type { DatasetSettings } from '../../dns/query/operations.ts';
import {
  makeZone,
  type ServedZone,
  signedZone,
  unsignedZone,
  type ZoneSigner,
} from '../../dns/query/zones.ts';
import type { PeriodSecret } from '../../feed/ports/node-keys.ts';
import type { DnsLimits } from '../../ops/config/config.ts';
import type { LoadedDatabase } from '../../services/geoip-files.ts';
import type { FeedName } from '../../services/providers/feeds.ts';
import type { Ask } from './asks.ts';

/** Ports in use; 0 in a request means any free one. */
export interface EdgePorts {
  readonly dns: number;
  readonly dot: number;
  readonly doh: number;
}

/** Reception below the sockets. */
export interface XdpSettings {
  readonly interfaces: readonly string[];
  readonly mode: XdpMode;
  /** Path of the loader's socket. */
  readonly loader: string;
}

/** Settings of one worker thread: plain data, copied into the thread except the shared buffers. */
export interface WorkerSettings {
  /** From 0. */
  readonly worker: number;
  readonly host: string;
  readonly ports: EdgePorts;
  readonly tls: CertificatePair;
  /** 48 octets, equal in all workers, so that a TLS session resumes on any of them. */
  readonly ticketKeys: Uint8Array;
  readonly zones: readonly string[];
  readonly nameServers: readonly NameServer[];
  readonly signing: SigningMode;
  /** One key set a zone; empty where answers are not signed. */
  readonly keys: readonly NodeKeySetData[];
  readonly nodeName: string;
  readonly sync: boolean;
  readonly demo: boolean;
  readonly btc: boolean;
  /** Null: the dataset registry is off. */
  readonly datasets: DatasetSettings | null;
  /** See `loadDatabase`. */
  readonly geoip: LoadedDatabase;
  /** See `loadPlaces`. */
  readonly places: SharedArrayBuffer;
  readonly viewPath: string;
  readonly dataDir: string;
  /** To the provider client of the main thread; it is transferred to the worker. */
  readonly providers: MessagePort;
  readonly feeds: readonly FeedName[];
  readonly freshness: SharedArrayBuffer;
  /** One row of counters a worker. */
  readonly stats: SharedArrayBuffer;
  /** Whether queries are counted and recorded. */
  readonly accounting: boolean;
  /** Where the shares of sources begin (`startShares`); random, equal in all workers. */
  readonly shares: number;
  /** Secrets of server cookies by day; equal on all nodes of a service. */
  readonly cookies: readonly PeriodSecret[];
  readonly limits: DnsLimits;
  readonly udp: UdpChoice;
  /** Networks whose connections and datagrams begin with a PROXY header. */
  readonly proxies: readonly string[];
  /** Null: nothing is received below the sockets. */
  readonly xdp: XdpSettings | null;
  /** See `createConnectionMemory`. */
  readonly connections: SharedArrayBuffer;
  /** Shared by all workers; see `createRateMemory`. */
  readonly rates: SharedArrayBuffer;
}

/** Settings that change while a worker runs. */
export type LiveSettings = Pick<WorkerSettings, 'tls' | 'ticketKeys' | 'keys' | 'cookies' | 'geoip'>;

export type ToWorker =
  /** Answered by `accepted` or `refused` with the same id: all settings are used, or none. */
  | { readonly type: 'change'; readonly id: number; readonly settings: Partial<LiveSettings> }
  /** Answered by `reply` with the same id. */
  | { readonly type: 'ask'; readonly id: number; readonly ask: Ask }
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

/** `refused`: the worker keeps its settings. */
export interface WorkerAnswer {
  readonly type: 'accepted' | 'refused';
  readonly id: number;
}

export type FromWorker =
  | Listening
  | StartFailure
  | WorkerAnswer
  /** Null: the worker is stopping. */
  | { readonly type: 'reply'; readonly id: number; readonly reply: HttpReply | null }
  /** What was counted since the message before (dns/accounting/handover.ts). */
  | { readonly type: 'counted'; readonly buffer: ArrayBuffer }
  /** A socket reported an error while it served. */
  | { readonly type: 'fault'; readonly transport: Transport }
  | { readonly type: 'xdp'; readonly change: XdpChange };

interface ServedZoneSettings {
  readonly zones: readonly string[];
  readonly nameServers: readonly NameServer[];
  readonly mode: SigningMode;
  /** One key set a zone; empty where answers are not signed. */
  readonly keys: readonly NodeKeySetData[];
  readonly clock: Clock;
}

/** The zones of a node, each with its signer and its DNSKEY, CDS and CDNSKEY rrsets. @throws KeyError for unusable keys */
export function servedZones({ zones, nameServers, mode, keys, clock }: ServedZoneSettings): ServedZone[] {
  return zones.map((text) => {
    const data = keys.find(({ zone }) => zone === text);
    if (data === undefined) return unsignedZone(makeZone(text, nameServers));
    const signer = isPresigned(data)
      ? makePresignedSigner({ ...readPresignedSet(data), clock })
      : makeSigner({ keys: readKeySet(data), mode, clock });
    const apex = [signer.dnskey, signer.cds, signer.cdnskey];
    return signedZone(makeZone(text, nameServers, apex), zoneSigner(signer));
  });
}

function zoneSigner(signer: Signer): ZoneSigner {
  return {
    sign: (rrset, once) => signer.sign(rrset, once),
    nsec: (qname, types) => nsecRdata(qname, types, signer.apex),
  };
}

interface ListenFacts {
  readonly transport: Transport;
  /** 0: any free one. */
  readonly port: number;
}

const VARIABLES: Readonly<Record<Transport, string>> = {
  udp: 'UQRP_DNS_PORT',
  tcp: 'UQRP_DNS_PORT',
  dot: 'UQRP_DOT_PORT',
  doh: 'UQRP_DOH_PORT',
};

/** DNS workers could not start. `listener` is null when the reason was not a port. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  /** The system's error name, such as EADDRINUSE, or EXIT: the thread ended by itself. */
  readonly code: string;
  readonly listener: ListenFacts | null;

  constructor(code: string, listener: ListenFacts | null) {
    super(
      listener === null
        ? `a DNS worker could not start: ${code}`
        : `${portText(listener)} cannot be opened: ${code}`,
    );
    this.code = code;
    this.listener = listener;
  }
}

/** Such as `UQRP_DNS_PORT 5300/tcp`. */
function portText({ transport, port }: ListenFacts): string {
  return `${VARIABLES[transport]} ${port}/${transport === 'udp' ? 'udp' : 'tcp'}`;
}

/** Opens a listener. @throws ListenError in place of the system's error */
export async function listenOn<T>(listener: ListenFacts, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw new ListenError(errorCode(error), listener);
  }
}

export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'UNKNOWN';
}

/** Origin of the DoH server for a client of this machine. @param host of UQRP_HOST: an address or a name */
export function dohUrl(host: string, port: number): string {
  const name = isEveryAddress(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `https://${name}:${port}`;
}
