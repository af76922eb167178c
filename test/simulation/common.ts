import type { Bus } from '../../src/feed/bus/bus.ts';
import type { FeedVerifier } from '../../src/feed/message/keys.ts';
import type { Counters } from './counters.ts';
import type { Disk } from './disk.ts';
import type { ProcessTimers, Scheduler } from './scheduler.ts';

/** What every process of one simulation has. */
export interface Common {
  readonly scheduler: Scheduler;
  /** Messages of the feed are signed. */
  readonly isWhole: boolean;
  readonly verifier: FeedVerifier;
  readonly counters: Counters;
  readonly trace: (text: string) => void;
}

/** What one process has in its hands, from its start to its end. All of it stands still while the process is paused, and ends with it. */
export interface ProcessPorts {
  readonly name: string;
  readonly timers: ProcessTimers;
  /** The wall clock of its machine, which may be wrong. */
  readonly clock: () => number;
  readonly random: (octets: number) => Uint8Array;
  /** From 0 up to 1. */
  readonly chance: () => number;
  readonly bus: Bus;
  readonly disk: Disk;
  readonly counters: Counters;
  readonly trace: (text: string) => void;
}

/** A request of a customer to the REST API of one control process. */
export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From `/api/v1` on, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Parsed, where the answer is JSON; octets of a tile; else its text. */
  readonly body: unknown;
}

/** A delivery, as it arrives at a customer's endpoint. */
export interface ArrivedDelivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What the endpoint does with it, `afterMs` later. Null: it never answers. */
export type EndpointAnswer =
  | { readonly afterMs: number; readonly status: number; readonly retryAfter?: string }
  | { readonly afterMs: number; readonly fault: 'connection_failed' | 'dns_failure' | 'tls_error' }
  | null;
