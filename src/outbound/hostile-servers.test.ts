import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { type HostileScript, hostileScript, rawGarbage } from '../../test/support/outbound/hostile-server.ts';
import {
  HOST,
  type Peer,
  ROOT_PEM,
  reset,
  type Side,
  startTcp,
  startTls,
} from '../../test/support/outbound/peer.ts';
import { createTlsSessions } from './connection.ts';
import { createOutboundClient } from './outbound-client.ts';
import type { OutboundResult } from './request.ts';

/** 1,000 servers, each of which misbehaves as its seed says. `TEST_SEED=n` repeats a run. */

const SERVERS = 1000;
const AT_ONCE = 20;
/** Far above what any server needs: it ends only what would be a hang. */
const PATIENT_MS = 60_000;
/** The deadline for servers that fall silent. */
const SHORT_MS = 300;
/** What a client that stops at its limit may have made the server write, with what the sockets buffer. */
const WRITTEN_MAX = 8_000_000;

const FIRST_SEED = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

/** Runs the script of the server, one connection. @returns octets written */
function play(side: Side, script: HostileScript, onWritten: (octets: number) => void): void {
  const { raw, secure } = side;
  let part = 0;
  const end = (): void => {
    if (script.end === 'end') secure.end();
    else if (script.end === 'destroy') raw.destroy();
    else if (script.end === 'reset') reset(side);
    else if (script.end === 'endless') flood();
  };
  function flood(): void {
    for (;;) {
      if (secure.destroyed || raw.destroyed) return;
      onWritten(script.filler.length);
      if (!secure.write(script.filler)) break;
    }
    secure.once('drain', flood);
  }
  const step = (): void => {
    const octets = script.parts[part++];
    if (secure.destroyed) return;
    if (octets === undefined) {
      end();
      return;
    }
    onWritten(octets.length);
    secure.write(octets, () => setImmediate(step));
  };
  step();
}

async function eachAtOnce(count: number, run: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) await run(next++);
    }),
  );
}

function ask(peer: Peer, path: string, deadlineMs: number): Promise<OutboundResult> {
  const client = createOutboundClient({
    policy: { allows: () => true, admits: () => true },
    resolve: async () => ['127.0.0.1'],
    deadlineMs,
    ca: ROOT_PEM,
    sessions: createTlsSessions(),
  });
  const url = new URL(`https://${HOST}:${peer.port}/${path}`);
  return client({ method: 'POST', url, headers: {}, body: Buffer.from('{}'), maxBytes: 0 });
}

describe('hostile servers', () => {
  it(`a thousand of them get a status in range or a named fault, and no socket stays open (seed ${FIRST_SEED})`, async () => {
    const scripts = Array.from({ length: SERVERS }, (_, index) => hostileScript(FIRST_SEED + index));
    const written = new Array<number>(SERVERS).fill(0);
    const asked = new Array<number>(SERVERS).fill(0);
    const peer = await startTls((side) => {
      side.secure.once('data', (request: Buffer) => {
        const index = Number(/^POST \/(\d+) /.exec(request.toString('latin1'))?.[1]);
        asked[index]!++;
        play(side, scripts[index]!, (octets) => {
          written[index]! += octets;
        });
      });
    });
    const seen = { response: 0, failed: 0 };
    try {
      await eachAtOnce(SERVERS, async (index) => {
        const script = scripts[index]!;
        const title = `seed ${FIRST_SEED + index}, ${script.title}`;
        const isSilent = script.end === 'silence';
        const result = await ask(peer, String(index), isSilent ? SHORT_MS : PATIENT_MS);
        seen[result.kind]++;
        if (result.kind === 'response') {
          assert.ok(result.status >= 200 && result.status <= 599, title);
          assert.equal(result.body.length, 0, title);
          assert.notEqual(script.expected, 'fault', title);
          if (typeof script.expected === 'number') assert.equal(result.status, script.expected, title);
        } else {
          const allowed = isSilent ? ['connection_failed', 'timeout'] : ['connection_failed'];
          assert.ok(allowed.includes(result.fault), `${title}: ${result.fault}`);
          const mayFail = typeof script.expected !== 'number' || isSilent || script.end !== 'end';
          assert.ok(mayFail, `${title}: ${result.fault}`);
        }
        assert.ok((asked[index] ?? 0) <= 1, `${title}: asked again`);
        assert.ok((written[index] ?? 0) <= WRITTEN_MAX, `${title}: ${written[index]} octets`);
      });
      await peer.idle();
      assert.equal(peer.count(), SERVERS, 'one connection each');
      assert.ok(seen.response > SERVERS / 10 && seen.failed > SERVERS / 10, JSON.stringify(seen));
    } finally {
      peer.close();
    }
  });

  it(`a hundred that do not speak TLS fail (seed ${FIRST_SEED})`, async () => {
    let connection = 0;
    const peer = await startTcp((raw) => {
      const { octets, waits } = rawGarbage(FIRST_SEED + connection++);
      const speak = (): void => void raw.end(octets);
      if (waits) raw.once('data', speak);
      else speak();
    });
    try {
      await eachAtOnce(100, async (index) => {
        const result = await ask(peer, String(index), PATIENT_MS);
        assert.ok(result.kind === 'failed', `request ${index}`);
        assert.ok(['tls_error', 'connection_failed'].includes(result.fault), result.fault);
      });
      await peer.idle();
      assert.equal(connection, 100);
    } finally {
      peer.close();
    }
  });
});
