import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { realTimers } from '../base/lifecycle/timers.ts';
import { type PinnedResult, pinnedRequest, type Resolve, type TlsSessions } from './connection.ts';
import {
  deadline,
  type OutboundFailure,
  type OutboundFault,
  type OutboundRequest,
  type OutboundResult,
} from './request.ts';
import type { TargetPolicy } from './target.ts';

export interface OutboundClientOptions {
  readonly policy: TargetPolicy;
  readonly resolve: Resolve;
  /** Milliseconds over DNS, connection, TLS, head and body together. */
  readonly deadlineMs: number;
  /** PEM. Replaces the system's trusted certificates: for tests. */
  readonly ca?: string;
  /** Must not be shared with another client. Without it every handshake is a full one. */
  readonly sessions?: TlsSessions;
  readonly dial?: typeof pinnedRequest;
}

/** Makes one request and returns the response or a fault. Never rejects. */
export type OutboundClient = (request: OutboundRequest, signal?: AbortSignal) => Promise<OutboundResult>;

/** Without the hybrid X25519MLKEM768 that Node offers first: it adds a quarter to the CPU of an attempt (ADR 11). */
const GROUPS = 'X25519:P-256:P-384:P-521';
const DIALS_MAX = 3;

export function createOutboundClient(options: OutboundClientOptions): OutboundClient {
  const { policy, resolve, deadlineMs, ca, sessions, dial = pinnedRequest } = options;
  // Shared by all requests: a new one each time adds a third to the CPU of an attempt.
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ecdhCurve: GROUPS,
    ...(ca === undefined ? {} : { ca }),
  });

  /** Another address is tried only while nothing has been sent: a request must not be made twice. */
  async function dialInTurn(
    request: OutboundRequest,
    addresses: readonly string[],
    endsAt: number,
    signal: AbortSignal,
  ): Promise<OutboundResult> {
    let last: PinnedResult = { result: failed('connection_failed'), wasConnected: false };
    for (const [index, address] of addresses.entries()) {
      // An equal share of the time left, so that an address that drops packets cannot use all of it.
      const connectMs = Math.max(1, (endsAt - realTimers.elapsed()) / (addresses.length - index));
      last = await dial(request, { address, secureContext, sessions, connectMs, signal });
      if (last.wasConnected || signal.aborted) break;
    }
    return last.result;
  }

  return async (request, outer) => {
    if (!policy.allows(request.url)) return failed('blocked_address');
    const { signal, endsAt, release } = deadline(deadlineMs, outer);
    try {
      const addresses = await addressesOf(request.url, resolve, signal);
      if (signal.aborted) return failed('timeout');
      if (addresses.length === 0) return failed('dns_failure');
      // One bad address among good ones is an attack (DNS rebinding) or a mistake.
      if (!addresses.every((address) => policy.admits(request.url, address)))
        return failed('blocked_address');
      return await dialInTurn(request, addresses.slice(0, DIALS_MAX), endsAt, signal);
    } finally {
      release();
    }
  };
}

async function addressesOf(url: URL, resolve: Resolve, signal: AbortSignal): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? await resolve(host, signal) : [host];
}

function failed(fault: OutboundFault): OutboundFailure {
  return { kind: 'failed', fault };
}
