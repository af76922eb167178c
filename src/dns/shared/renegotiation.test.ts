import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setting } from '../../../test/support/dns/fakes.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { listenDoh } from '../doh/listener.ts';
import { listenDot } from '../stream/stream-server.ts';
import type { TlsListener } from './tls.ts';

const tls = makeSelfSigned({ hosts: [], now: Date.now() });
const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'the program openssl is not installed';

/** What a client of TLS 1.2 says that asks for a renegotiation as soon as it is connected. */
function renegotiate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = spawn('openssl', ['s_client', '-tls1_2', '-connect', `127.0.0.1:${port}`]);
    let said = '';
    let asked = false;
    for (const stream of [client.stdout, client.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        // The line that ends what it tells of the connection; a line of R alone asks for a renegotiation.
        if (!asked && said.includes('Extended master secret')) {
          asked = true;
          client.stdin.write('R\n');
        }
        if (/no renegotiation|renegotiation.*(?:fail|not)/i.test(said)) client.kill();
      });
    }
    client.stdin.on('error', () => {});
    client.once('error', reject);
    client.once('close', () => resolve(said));
  });
}

for (const [name, listen] of [
  ['DoT', () => listenDot({ ...setting(), tls })],
  [
    'DoH',
    () =>
      listenDoh({
        ...setting(),
        tls,
        json: () => ({ kind: 'refused', error: '' }),
        schema: null,
      }),
  ],
] as const satisfies readonly (readonly [string, () => Promise<TlsListener>])[]) {
  test(`TLS 1.2 renegotiation is refused over ${name}`, { skip }, async () => {
    const listener = await listen();
    try {
      const said = await renegotiate(listener.address.port);
      assert.match(said, /Protocol *: TLSv1\.2/);
      assert.match(said, /RENEGOTIATING/);
      assert.match(said, /no renegotiation/i);
    } finally {
      await listener.close(0);
    }
  });
}
