import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { get, tls, withDoh } from '../../../test/support/dns/doh/doh-clients.ts';
import { until } from '../../../test/support/dns/fakes.ts';
import { FLAG, FRAME, PREFACE } from './http2/frames.ts';

function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

const NOTHING = new Uint8Array(0);
/** A literal field without indexing, `x: y`: it adds to the header list and not to the table. */
const FIELD = Buffer.from([0x00, 0x01, 0x78, 0x01, 0x79]);

/** What a hostile client sends after the preface, and again until the connection ends. */
const FLOODS: readonly (readonly [name: string, first: Buffer, again: Buffer])[] = [
  ['PING', Buffer.alloc(0), frame(FRAME.ping, 0, 0, new Uint8Array(8))],
  ['SETTINGS', Buffer.alloc(0), frame(FRAME.settings, 0, 0, NOTHING)],
  [
    'CONTINUATION (CVE-2024-27316)',
    frame(FRAME.headers, FLAG.endStream, 1, FIELD),
    frame(FRAME.continuation, 0, 1, FIELD),
  ],
];

async function connect(port: number): Promise<TLSSocket> {
  const socket = tlsConnect({ host: '127.0.0.1', port, ca: tls.cert, ALPNProtocols: ['h2'] });
  socket.on('error', () => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

describe('floods of frames', () => {
  for (const [name, first, again] of FLOODS) {
    test(`${name}: the connection ends, and other clients are served`, async () => {
      await withDoh({}, async ({ options, listener, clients }) => {
        const socket = await connect(listener.address.port);
        // Replies stay unread, as an attacker leaves them.
        socket.pause();
        socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0, NOTHING), first]));
        const many = Buffer.concat(Array.from({ length: 500 }, () => again));
        const isOver = (): boolean => options.observe.count('doh closed') > 0 || socket.destroyed;
        for (let round = 0; round < 200 && !isOver(); round++) {
          await new Promise<void>((resolve) => socket.write(many, () => resolve()));
        }
        socket.resume();
        await until(isOver);
        assert.equal((await clients.h2({ path: get('hot') })).status, 200);
        assert.deepEqual(options.faults, []);
      });
    });
  }
});
