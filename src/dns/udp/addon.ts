import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Raise with `ABI` in native/udp-batch.c: a binary with another number is not loaded. */
const ABI = 3;

/** Offsets and sizes in octets of the shared memory. Slot i of a part is at `partAt + i * partStride`. */
export interface UdpLayout {
  /** Maximum datagrams in a batch. */
  readonly slots: number;
  readonly requestsAt: number;
  readonly requestOctets: number;
  readonly requestStride: number;
  readonly repliesAt: number;
  readonly replyOctets: number;
  readonly replyStride: number;
  /** One sockaddr per slot. */
  readonly peersAt: number;
  readonly peerStride: number;
  /** 32-bit signed; negative: skip this slot. */
  readonly requestLengthsAt: number;
  /** 32-bit signed; 0 at the start of a batch: no reply. */
  readonly replyLengthsAt: number;
}

export interface UdpEndpoint {
  readonly memory: ArrayBuffer;
  readonly host: string;
  readonly port: number;
}

/** native/udp-batch.c. */
export interface UdpAddon {
  readonly abi: number;
  readonly layout: UdpLayout;
  /**
   * @param onBatch gets the number of requests; replies in the same slots leave when it returns. -1: `memory` was detached,
   *   and nothing is received any more
   * @returns an endpoint, or a negative system error number
   */
  open(
    host: string,
    port: number,
    reusePort: boolean,
    onBatch: (count: number) => void,
  ): UdpEndpoint | number;
  /** Sends the first `count` replies, each to the peer in its slot. Call only between two batches. */
  flush(endpoint: UdpEndpoint, count: number): void;
  /** Sends one reply to an earlier peer; does nothing on a closed endpoint. */
  send(endpoint: UdpEndpoint, peer: Uint8Array, reply: Uint8Array, octets: number): void;
  close(endpoint: UdpEndpoint): void;
  /**
   * Gives pages in which the C library holds only free memory back to the kernel, those of all threads (`malloc_trim`). 2 to 7 ms after a start; does
   * nothing with other C libraries than glibc.
   */
  trim(): void;
}

export const PREBUILT = fileURLToPath(
  new URL(`../../../native/prebuilt/${process.platform}-${process.arch}/udp-batch.node`, import.meta.url),
);

/** Null where the addon is missing or unusable. Any number of threads may load it. */
export function loadUdpAddon(path = PREBUILT): UdpAddon | null {
  try {
    const addon = createRequire(import.meta.url)(path) as UdpAddon;
    return addon.abi === ABI ? addon : null;
  } catch {
    // No file for this platform, another C library, or loading of native code is off.
    return null;
  }
}
