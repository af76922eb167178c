/** An addon without sockets: the test fills the slots of a batch, and sees what leaves when. */

import { constants } from 'node:os';
import type { UdpAddon, UdpLayout } from '../../../../src/dns/udp/batch-listener.ts';
import { labelOf } from '../fakes.ts';

const SLOTS = 64;
const REQUEST = 512;
const REPLY = 4096;
const PEER = 64;
const REPLIES_AT = SLOTS * REQUEST;
const PEERS_AT = REPLIES_AT + SLOTS * REPLY;
const LENGTHS_AT = PEERS_AT + SLOTS * PEER;

const LAYOUT: UdpLayout = {
  slots: SLOTS,
  requestsAt: 0,
  requestOctets: REQUEST,
  requestStride: REQUEST,
  repliesAt: REPLIES_AT,
  replyOctets: REPLY,
  replyStride: REPLY,
  peersAt: PEERS_AT,
  peerStride: PEER,
  requestLengthsAt: LENGTHS_AT,
  replyLengthsAt: LENGTHS_AT + SLOTS * 4,
};

export interface FakeUdpAddon {
  readonly addon: UdpAddon;
  /** Labels of the replies, in the order in which they left; one list a system call. */
  readonly left: string[][];
  /** Receives messages as one batch; peer i has the address 127.0.0.i. */
  receive(messages: readonly Uint8Array[], peer?: number): void;
}

export function fakeUdpAddon(): FakeUdpAddon {
  const memory = new ArrayBuffer(LENGTHS_AT + SLOTS * 8);
  const octets = Buffer.from(memory);
  const requestLengths = new Int32Array(memory, LAYOUT.requestLengthsAt, SLOTS);
  const replyLengths = new Int32Array(memory, LAYOUT.replyLengthsAt, SLOTS);
  const left: string[][] = [];
  let onBatch: (count: number, isBelow: number) => void = () => {};
  const flush = (count: number): void => {
    const sent: string[] = [];
    for (let i = 0; i < count; i++) {
      const at = REPLIES_AT + i * REPLY;
      if (replyLengths[i]! > 0) sent.push(labelOf(octets.subarray(at, at + replyLengths[i]!)));
    }
    if (sent.length > 0) left.push(sent);
  };
  return {
    left,
    receive(messages, peer = 1) {
      for (const [i, message] of messages.entries()) {
        octets.set(message, i * REQUEST);
        octets.set([2, 0, 0x12, 0x34, 127, 0, 0, peer], PEERS_AT + i * PEER);
        requestLengths[i] = message.length;
        replyLengths[i] = 0;
      }
      onBatch(messages.length, 0);
      flush(messages.length);
    },
    addon: {
      abi: 5,
      layout: LAYOUT,
      open(_host, port, _reusePort, callback) {
        onBatch = callback;
        return { memory, host: '127.0.0.1', port };
      },
      flush: (_endpoint, count) => flush(count),
      send: (_endpoint, _peer, reply) => left.push([labelOf(reply)]),
      close() {},
      attach: () => -constants.errno.ENOENT,
      trim() {},
    },
  };
}
