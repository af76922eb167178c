import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

const SOA = 6;
const QUESTION = encodeQuery(nameFromText('uqrp.net')!, SOA, { id: 7, rd: false, edns: null });
const FRAME = Buffer.concat([Buffer.from([0, QUESTION.length]), QUESTION]);
/** More than the default of one address. */
const CONNECTIONS = 110;
/** Of the server. Those that take the last place of an address in the same moment both get one. */
const WORKERS = 2;
/** With 10 questions a second so many would take ten seconds; without a limit no machine is that slow. */
const MANY = 110;
const MANY_MS = 9000;
/** More than the allowance of ten questions a second, so that some must wait for more than a second. */
const SOME = 35;

/** How many of so many connections over TCP that are open together get a reply. */
async function served({ ports }: Uqrp): Promise<number> {
  const sockets: Socket[] = [];
  const outcomes = Array.from({ length: CONNECTIONS }, async () => {
    const socket = connect({ host: '127.0.0.1', port: ports.dns });
    sockets.push(socket);
    const closed = new Promise<false>((resolve) => {
      socket.on('error', () => resolve(false)).on('close', () => resolve(false));
    });
    socket.write(FRAME);
    return await Promise.race([
      once(socket, 'data').then(
        () => true,
        () => false,
      ),
      closed,
    ]);
  });
  const all = await Promise.all(outcomes);
  for (const socket of sockets) socket.destroy();
  return all.filter(Boolean).length;
}

/** Milliseconds until so many questions on one TCP connection are answered. */
async function streamed({ ports }: Uqrp, questions: number): Promise<number> {
  const socket = connect({ host: '127.0.0.1', port: ports.dns });
  const begun = performance.now();
  socket.write(Buffer.concat(Array.from({ length: questions }, () => FRAME)));
  let octets = 0;
  let length = 0;
  for await (const chunk of socket) {
    length ||= 2 + (chunk as Buffer).readUInt16BE(0);
    octets += (chunk as Buffer).length;
    if (octets >= questions * length) break;
  }
  socket.destroy();
  return performance.now() - begun;
}

/** The statuses of so many requests for DNS over HTTPS on the REST port, which counts as the port of DoH does. */
async function statuses({ ports }: Uqrp, requests: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < requests; i++) {
    all.push((await fetch(`http://127.0.0.1:${ports.http}/resolve?name=uqrp.net&type=SOA`)).status);
  }
  return all;
}

it('each limit of DNS by address is a setting: as it is set, and off at 0 while the others hold', async () => {
  const off = { UQRP_DNS_STREAM_RATE: '0', UQRP_DNS_CONNECTIONS: '0', UQRP_DOH_RATE: '0' };
  const cases: [env: Record<string, string>, limited: 'connections' | 'stream' | 'https' | null][] = [
    [{ ...off, UQRP_DNS_RATE: '200' }, null],
    [{ ...off, UQRP_DNS_RATE: '200', UQRP_DNS_CONNECTIONS: '5' }, 'connections'],
    [{ ...off, UQRP_DNS_RATE: '200', UQRP_DNS_STREAM_RATE: '10' }, 'stream'],
    // Without limits, as for load tests.
    [{ UQRP_DNS_RATE: '0', UQRP_DOH_RATE: '2' }, 'https'],
  ];
  for (const [env, limited] of cases) {
    const server = await startUqrp({ UQRP_WORKERS: String(WORKERS), ...env });
    try {
      // A minute may end between two requests, a second between two questions.
      const refused = (await statuses(server, 6)).filter((status) => status === 429).length;
      assert.ok(limited === 'https' ? refused >= 2 : refused === 0, `${limited}: ${refused} refused`);
      if (limited !== 'stream') {
        const open = await served(server);
        const right = limited === 'connections' ? open >= 5 && open < 5 + WORKERS : open === CONNECTIONS;
        assert.ok(right, `${limited}: ${open} connections of ${CONNECTIONS} were served`);
      }
      // The server may not have seen yet that those have ended.
      if (limited === 'connections') continue;
      const ms = await streamed(server, limited === 'stream' ? SOME : MANY);
      assert.ok(limited === 'stream' ? ms > 1500 : ms < MANY_MS, `${limited}: ${ms} ms`);
    } finally {
      await server.remove();
    }
  }
});
