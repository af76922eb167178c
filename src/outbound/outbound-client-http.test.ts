import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import {
  ANSWER,
  HOST,
  type Peer,
  ROOT_PEM,
  reset,
  type Side,
  says,
  startTcp,
  startTls,
} from '../../test/support/outbound/peer.ts';
import { cookies, head, SAID } from '../../test/support/outbound/responses.ts';
import { pinnedRequest } from './connection.ts';
import { createOutboundClient } from './outbound-client.ts';
import type { OutboundFault, OutboundResult } from './request.ts';

/** Every way in which a connection or HTTP may fail, by real servers, with the options of a webhook: the head decides. */

/** Long enough for anything that ends by itself. */
const PATIENT_MS = 60_000;
/** The first deadline that is tried for what only a deadline ends. */
const SHORT_MS = 200;

type Seen = OutboundFault | number;

interface Met {
  readonly seen: Seen;
  readonly result: OutboundResult;
}

/** One POST; everything on the server's side must end, and nothing may listen any more. */
async function meet(peer: Peer, deadlineMs: number, body: Uint8Array = Buffer.from('{}')): Promise<Met> {
  const { signal } = new AbortController();
  const signals = [signal];
  const client = createOutboundClient({
    policy: { allows: () => true, admits: () => true },
    resolve: async () => ['127.0.0.1'],
    deadlineMs,
    ca: ROOT_PEM,
    dial: (request, pin) => {
      signals.push(pin.signal);
      return pinnedRequest(request, pin);
    },
  });
  const url = new URL(`https://${HOST}:${peer.port}/hook?x=1`);
  const result = await client({ method: 'POST', url, headers: {}, body, maxBytes: 0 }, signal);
  await peer.idle();
  const isTooEarly = result.kind === 'failed' && result.fault === 'timeout' && peer.count() === 0;
  assert.ok(isTooEarly || peer.count() === 1, 'one connection, and never another');
  for (const one of signals) assert.equal(getEventListeners(one, 'abort').length, 0);
  return { result, seen: result.kind === 'failed' ? result.fault : result.status };
}

async function serving(peer: Peer, test: (peer: Peer) => Promise<void>): Promise<void> {
  try {
    await test(peer);
  } finally {
    peer.close();
  }
}

/**
 * A request that only the deadline ends. The deadline is doubled until the server has come as far as the test wants before
 * it: how fast the machine is does not matter.
 *
 * @param start opens a server that calls back once it is there
 */
async function expires(
  start: (reached: () => void) => Promise<Peer>,
  title: string,
  body?: Uint8Array,
): Promise<void> {
  let isReached = false;
  for (let deadlineMs = SHORT_MS; !isReached; deadlineMs *= 2) {
    assert.ok(deadlineMs < PATIENT_MS, `never came so far: ${title}`);
    const peer = await start(() => {
      isReached = true;
    });
    await serving(peer, async () => {
      assert.equal((await meet(peer, deadlineMs, body)).seen, 'timeout', title);
    });
  }
}

/** How far a server goes before it fails. Each calls back once it is there. */
const STAGES: Readonly<Record<string, (side: Side, then: () => void) => void>> = {
  handshake: ({ secure }, then) => secure.once('secure', then),
  request: ({ secure }, then) => secure.once('data', then),
  'half a status line': ({ secure }, then) => secure.once('data', () => secure.write('HTTP/1.1 20', then)),
  'half a head': ({ secure }, then) =>
    secure.once('data', () => secure.write('HTTP/1.1 200 OK\r\nX-Some: thing\r\n', then)),
  'an interim response': ({ secure }, then) =>
    secure.once('data', () => secure.write('HTTP/1.1 100 Continue\r\n\r\n', then)),
};

const ENDS: Readonly<Record<string, [end: (side: Side) => void, expected: Seen]>> = {
  'a reset': [reset, 'connection_failed'],
  'an end': [({ secure }) => secure.end(), 'connection_failed'],
  'a bare end': [({ raw }) => raw.destroy(), 'connection_failed'],
  silence: [() => {}, 'timeout'],
};

describe('an outbound client before HTTP servers', () => {
  it('reports the step at which a server failed, and leaves nothing open', async () => {
    for (const [stage, reach] of Object.entries(STAGES)) {
      for (const [name, [end, expected]] of Object.entries(ENDS)) {
        const title = `${name} after ${stage}`;
        if (expected === 'timeout') {
          await expires((reached) => startTls((side) => reach(side, reached)), title);
          continue;
        }
        await serving(await startTls((side) => reach(side, () => end(side))), async (peer) => {
          assert.equal((await meet(peer, PATIENT_MS)).seen, expected, title);
        });
      }
    }
  });

  it('reports a server that fails before TLS', async () => {
    const stages = {
      'on accept': (_raw: unknown, then: () => void): unknown => then(),
      'after ClientHello': (raw: NodeJS.ReadableStream, then: () => void): unknown => raw.once('data', then),
    };
    for (const [stage, reach] of Object.entries(stages)) {
      for (const [end, expected] of [
        ['resetAndDestroy', 'connection_failed'],
        ['destroy', 'connection_failed'],
        ['end', 'connection_failed'],
        ['resume', 'timeout'],
      ] as const) {
        const title = `${end} ${stage}`;
        if (expected === 'timeout') {
          const fall = (raw: Socket, reached: () => void): unknown =>
            reach(raw, () => {
              raw[end]();
              reached();
            });
          await expires((reached) => startTcp((raw) => fall(raw, reached)), title);
          continue;
        }
        await serving(await startTcp((raw) => reach(raw, () => raw[end]())), async (peer) => {
          assert.equal((await meet(peer, PATIENT_MS)).seen, expected, title);
        });
      }
    }
  });

  it('returns every status, follows no redirect, and refuses invalid HTTP', async () => {
    for (const [name, said, expected] of SAID) {
      const end = ({ secure }: Side): unknown => secure.once('data', () => secure.end(said));
      await serving(await startTls(end), async (peer) => {
        assert.equal((await meet(peer, PATIENT_MS)).seen, expected, name);
      });
    }
  });

  it('decides on the head and never reads a body', async () => {
    const endless = ({ secure }: Side): void => {
      const block = Buffer.alloc(65_536, 'x');
      const pump = (): void => {
        while (!secure.destroyed && secure.write(block));
      };
      secure.once('data', () => {
        secure.write(head('200 OK', 'Transfer-Encoding: identity'));
        secure.on('drain', pump);
        pump();
      });
    };
    await serving(await startTls(endless), async (peer) => {
      const { result } = await meet(peer, PATIENT_MS);
      assert.ok(result.kind === 'response');
      assert.deepEqual([result.status, result.body.length], [200, 0]);
    });
  });

  it('has one deadline over a head that drips and over interim responses that do', async () => {
    const drips: Readonly<Record<string, string>> = {
      'octets of a head': `HTTP/1.1 200 OK\r\nX-Some: ${'x'.repeat(10_000)}`,
      'octets of interim responses': head('103 Early Hints', `Link: ${'x'.repeat(10_000)}`),
    };
    for (const [name, text] of Object.entries(drips)) {
      const drip = ({ secure }: Side, reached: () => void): void => {
        let at = 0;
        secure.once('data', () => {
          const timer = setInterval(() => {
            secure.write(text.charAt(at++));
            if (at === 10) reached();
          }, 5);
          secure.once('close', () => clearInterval(timer));
        });
      };
      await expires((reached) => startTls((side) => drip(side, reached)), name);
    }
  });

  it('shows the fields of a response, and both forms of Retry-After among them', async () => {
    for (const value of ['120', 'Fri, 31 Dec 1999 23:59:59 GMT']) {
      const said = head('429 Too Many Requests', `Retry-After: ${value}`, 'Retry-After: 7', ...cookies);
      await serving(await startTls(says(said)), async (peer) => {
        const { result } = await meet(peer, PATIENT_MS);
        assert.ok(result.kind === 'response');
        assert.equal(result.headers['retry-after'], value);
        assert.equal(result.headers['set-cookie']?.length, cookies.length);
      });
    }
  });

  it('reports a request whose body cannot be sent', async () => {
    const large = Buffer.alloc(32 << 20, 'x');
    const table: readonly [string, (side: Side) => unknown, Seen][] = [
      ['a reset', (side) => side.secure.once('data', () => reset(side)), 'connection_failed'],
      ['an end', ({ raw, secure }) => secure.once('data', () => raw.destroy()), 'connection_failed'],
      ['an answer before the end', says(head('413 Content Too Large', 'Connection: close')), 413],
    ];
    for (const [name, serve, expected] of table) {
      await serving(await startTls((side) => void serve(side)), async (peer) => {
        assert.equal((await meet(peer, PATIENT_MS, large)).seen, expected, name);
      });
    }
    const stall = ({ raw, secure }: Side, reached: () => void): void => {
      secure.once('data', () => {
        raw.pause();
        reached();
      });
    };
    await expires((reached) => startTls((side) => stall(side, reached)), 'no reader', large);
  });

  it('sends a request of a known length, by itself, and nothing that the caller did not say', async () => {
    const seen: Buffer[] = [];
    const listen = ({ secure }: Side): void => {
      secure.on('data', (chunk: Buffer) => seen.push(chunk));
      secure.once('data', () => setTimeout(() => secure.write(ANSWER), 50));
    };
    const peer = await startTls(listen);
    await serving(peer, async () => {
      await meet(peer, PATIENT_MS, Buffer.from('{"ü":1}'));
      const lines = Buffer.concat(seen).toString().split('\r\n');
      assert.equal(lines[0], 'POST /hook?x=1 HTTP/1.1');
      assert.deepEqual(lines.slice(1).toSorted(), [
        '',
        'Accept-Encoding: identity',
        'Connection: close',
        'Content-Length: 8',
        `Host: ${HOST}:${peer.port}`,
        '{"ü":1}',
      ]);
    });
  });

  it('ends when its caller does, wherever it is', async () => {
    const peer = await startTls(() => {});
    const client = createOutboundClient({
      policy: { allows: () => true, admits: () => true },
      resolve: async () => ['127.0.0.1'],
      deadlineMs: PATIENT_MS,
      ca: ROOT_PEM,
    });
    await serving(peer, async () => {
      const controller = new AbortController();
      const url = new URL(`https://${HOST}:${peer.port}/`);
      const pending = client({ method: 'POST', url, headers: {}, maxBytes: 0 }, controller.signal);
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.abort();
      assert.deepEqual(await pending, { kind: 'failed', fault: 'timeout' });
      await peer.idle();
    });
  });
});
