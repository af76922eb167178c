import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { decodeMessage, encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { type Observed, observe } from '../support/observed.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

const PATIENCE_MS = 20_000;
/** Enough that each of two workers gets several. */
const CONNECTIONS = 12;
const QUERY = encodeQuery(nameFromText('get.100-km-to-mi.units.public.v1.uqrp.net')!, RRTYPE.TXT, {
  id: 0,
  rd: true,
  edns: { payload: 1232, dnssecOk: true },
});

const newPair = () => makeSelfSigned({ hosts: ['localhost'], now: Date.now() });
const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;

describe('SIGHUP to a server that answers over DoT and DoH', () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-walrus-'));
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
  const first = newPair();
  let server: Uqrp;
  let observed: Observed;

  before(async () => {
    write(first);
    server = await startUqrp({ UQRP_WORKERS: '2', UQRP_TLS_CERT: files.cert, UQRP_TLS_KEY: files.key });
    observed = observe(server);
  });
  after(async () => {
    observed.end();
    await server.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  function write({ cert, key }: { cert: string; key: string }): void {
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
  }

  /** Certificates that new connections get, over both transports. */
  async function shown(): Promise<string[]> {
    const seen = new Set<string>();
    for (let i = 0; i < CONNECTIONS; i++) {
      for (const port of [server.ports.dot, server.ports.doh]) {
        const socket = await open(port, 'dot');
        seen.add(socket.getPeerX509Certificate()!.fingerprint256);
        socket.destroy();
      }
    }
    return [...seen];
  }

  it('new connections get the new certificate, from every worker, and those that are open go on', async () => {
    assert.deepEqual(await shown(), [fingerprint(first.cert)]);
    const dot = await open(server.ports.dot, 'dot');
    const doh = connectHttp2(`https://localhost:${server.ports.doh}`, { ca: first.cert });
    await once(doh, 'connect');
    await answersOverDot(dot);
    await answersOverDoh(doh);
    const second = newPair();
    write(second);
    server.child.kill('SIGHUP');
    await eventually(async () => observed.count('tls.loaded') === 1, PATIENCE_MS);
    assert.deepEqual(await shown(), [fingerprint(second.cert)]);
    await answersOverDot(dot);
    await answersOverDoh(doh);
    dot.destroy();
    doh.destroy();
    await observed.check([keyLine(first.key), keyLine(second.key)]);
  });

  it('the earlier certificate stays when the new one is of no use, and a good one is taken afterwards', async () => {
    const [inUse] = await shown();
    const other = newPair();
    const bad = [
      { cert: 'walrus', key: other.key },
      { cert: other.cert, key: 'walrus' },
      { cert: other.cert, key: newPair().key },
    ];
    const failedBefore = observed.count('tls.failing');
    for (const [at, pair] of bad.entries()) {
      write(pair);
      server.child.kill('SIGHUP');
      await eventually(async () => observed.count('tls.failing') === failedBefore + at + 1, PATIENCE_MS);
      assert.deepEqual(await shown(), [inUse]);
    }
    rmSync(files.key);
    server.child.kill('SIGHUP');
    await eventually(
      async () => observed.count('tls.failing') === failedBefore + bad.length + 1,
      PATIENCE_MS,
    );
    const loadedBefore = observed.count('tls.loaded');
    write(other);
    server.child.kill('SIGHUP');
    await eventually(async () => observed.count('tls.loaded') === loadedBefore + 1, PATIENCE_MS);
    assert.deepEqual(await shown(), [fingerprint(other.cert)]);
    await observed.check(['walrus', keyLine(other.key)]);
  });
});

/** A new connection, without resumption. */
async function open(port: number, protocol: string): Promise<TLSSocket> {
  const ALPNProtocols = [protocol, 'h2'];
  // The test compares the certificate itself.
  const socket = connect({ host: 'localhost', port, ALPNProtocols, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

async function answersOverDot(socket: TLSSocket): Promise<void> {
  const framed = Buffer.alloc(2 + QUERY.length);
  framed.writeUInt16BE(QUERY.length);
  framed.set(QUERY, 2);
  let held = Buffer.alloc(0);
  const reply = new Promise<Buffer>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      if (held.length > 2 && held.length === 2 + held.readUInt16BE()) resolve(held.subarray(2));
    });
    socket.once('close', () => reject(new Error('the connection ended')));
  });
  socket.write(framed);
  assertSigned(await reply);
  socket.removeAllListeners('data');
}

async function answersOverDoh(session: ReturnType<typeof connectHttp2>): Promise<void> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/dns-query',
    'content-type': 'application/dns-message',
  });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.end(QUERY);
  await once(stream, 'end');
  assertSigned(Buffer.concat(chunks));
}

function assertSigned(reply: Buffer): void {
  const types = decodeMessage(reply)?.answer.map(({ type }) => type);
  assert.ok(types?.includes(RRTYPE.TXT) && types.includes(RRTYPE.RRSIG), 'the answer is signed');
}

/** A line from the middle of a private key. */
function keyLine(pem: string): string {
  return pem.split('\n')[1]!;
}
