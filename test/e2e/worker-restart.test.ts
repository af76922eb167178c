import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { updateKeys } from '../../src/dns/dnssec/key-files.ts';
import { generateKeySet } from '../../src/dns/dnssec/key-set.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { listeners, type Observed, observe } from '../support/observed.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { askSigned, type DnsKeys, servedKeys } from '../support/signed-answers.ts';
import { type Steering, steering } from '../support/steered-worker.ts';
import { eventually } from './client.ts';

/** For a busy machine: the first restart begins after a quarter of a second. */
const PATIENCE_MS = 30_000;
const RECORD = 'get.zebrakey.zebraspace.v1';
const SECRETS = ['zebrakey', 'zebraspace', 'giraffepayload'];

const newPair = () => makeSelfSigned({ hosts: ['localhost'], now: Date.now() });

describe('a DNS worker of a running server ends by a fault', () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-restart-'));
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
  let steer: Steering;
  let server: Uqrp;
  let observed: Observed;
  let keys: DnsKeys;

  before(async () => {
    writePair(newPair());
    steer = steering();
    server = await startUqrp({
      ...steer.env,
      UQRP_WORKERS: '2',
      UQRP_TLS_CERT: files.cert,
      UQRP_TLS_KEY: files.key,
    });
    const customer = account(server);
    await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
    server.cli(['namespace', 'public-read', 'zebraspace', 'on']);
    const data = Buffer.from('giraffepayload').toString('base64');
    await customer.call('POST', '/records', { record: { key: 'zebrakey.zebraspace.v1', data } });
    observed = observe(server);
    keys = await servedKeys(server.ports.dns);
    await eventually(
      async () => (await askSigned(server.ports.dns, RECORD, RRTYPE.TXT, [keys])).records.length === 1,
      PATIENCE_MS,
    );
  });
  after(async () => {
    observed.end();
    steer.release();
    await server.remove();
    steer.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  function writePair({ cert, key }: { cert: string; key: string }): void {
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
  }

  const until = (check: () => boolean): Promise<void> => eventually(async () => check(), PATIENCE_MS);
  const listening = (): number => listeners(server.ports.dns);

  /** Ends one of the two workers and holds its successor back, so that only the other answers. */
  async function alone(ended: number): Promise<void> {
    steer.hold();
    steer.kill(ended);
    await until(() => steer.isHeld(ended) && listening() === 1);
  }

  async function together(): Promise<void> {
    steer.release();
    // A worker counts as alive once all its ports listen and its message has reached the main thread.
    const { dns, dot, doh } = server.ports;
    await until(() => [dns, dot, doh].every((port) => listeners(port) === 2));
    await fetch(`http://127.0.0.1:${server.ports.http}/readyz`);
  }

  it('under queries: all are answered and signed, by the same keys before and after, and it is replaced', async () => {
    let asked = 0;
    let isDone = false;
    const client = async (): Promise<void> => {
      while (!isDone) {
        const name = asked % 2 === 0 ? RECORD : `get.${asked}-km-to-mi.units.public.v1`;
        asked++;
        const { by, records } = await askSigned(server.ports.dns, name, RRTYPE.TXT, [keys]);
        assert.deepEqual([by, records.length], [[0], 1], name);
      }
    };
    const load = Promise.all([client(), client(), client()]);
    try {
      await until(() => asked > 30);
      await Promise.race([load, alone(0)]);
      const at = asked;
      await Promise.race([load, until(() => asked > at + 30)]);
      await Promise.race([load, together()]);
      // Now only the successor answers.
      await Promise.race([load, alone(1)]);
      const then = asked;
      await Promise.race([load, until(() => asked > then + 30)]);
      await Promise.race([load, together()]);
    } finally {
      isDone = true;
    }
    await load;
    assert.deepEqual(await servedKeys(server.ports.dns), keys);
    assert.equal(observed.count('worker.exited'), 2);
    await observed.check(SECRETS);
  });

  it('and its successor, which was starting while keys and certificate changed, serves the new ones', async () => {
    const exitedBefore = observed.count('worker.exited');
    await alone(0);
    const next = generateKeySet('uqrp.net', Date.now());
    updateKeys(server.dataDir, 'uqrp.net', Date.now, () => ({ keys: next }));
    const pair = newPair();
    writePair(pair);
    server.child.kill('SIGHUP');
    await until(() => observed.count('keys.loaded') === 1 && observed.count('tls.loaded') === 1);
    await together();
    await alone(1);
    const sets = [keys, next.keys.map(({ dnskeyRdata }) => dnskeyRdata)];
    // It listens with the settings of its start; the change follows at once.
    await eventually(
      async () => (await askSigned(server.ports.dns, RECORD, RRTYPE.TXT, sets)).by.join() === '1',
      PATIENCE_MS,
    );
    for (let i = 0; i < 8; i++) {
      const name = `get.${i}-mi-to-km.units.public.v1`;
      assert.deepEqual((await askSigned(server.ports.dns, name, RRTYPE.TXT, sets)).by, [1]);
    }
    for (const port of [server.ports.dot, server.ports.doh]) await presents(port, pair.cert);
    await together();
    assert.equal(observed.count('worker.exited'), exitedBefore + 2);
    assert.equal(observed.count('worker.failing'), 0);
    await observed.check(SECRETS);
  });
});

/** A handshake that trusts only this certificate. */
function presents(port: number, ca: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: 'localhost', port, ca, ALPNProtocols: ['dot', 'h2'] }, () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}
