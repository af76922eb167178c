import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { observe } from '../support/observed.ts';
import { account, startUqrp } from '../support/server-process.ts';
import { askSigned, servedKeys } from '../support/signed-answers.ts';
import { eventually } from './client.ts';

const PATIENCE_MS = 30_000;
const PAYLOAD = Buffer.from('giraffepayload').toString('base64');
const SECRETS = ['zebraspace', 'giraffe', PAYLOAD];
const ENV = { UQRP_WORKERS: '2' };

describe('SIGTERM under queries and writes', () => {
  it('ends with code 0; what was answered is signed, what was acknowledged is there after the next start', async () => {
    const first = await startUqrp(ENV);
    const observed = observe(first);
    const customer = account(first);
    await customer.call('POST', '/namespaces', { namespace: { name: 'zebraspace' } });
    first.cli(['namespace', 'public-read', 'zebraspace', 'on']);
    const keys = await servedKeys(first.ports.dns);
    const acknowledged: string[] = [];
    let asked = 0;
    let isStopping = false;

    const ask = async (): Promise<void> => {
      for (;;) {
        const name = `get.${asked++}-km-to-mi.units.public.v1`;
        const reply = await askSigned(first.ports.dns, name, RRTYPE.TXT, [keys]).catch((error: unknown) => {
          // After the stop a query may get no answer, but never a wrong one.
          if (isStopping && !(error instanceof assert.AssertionError)) return null;
          throw error;
        });
        if (reply === null) return;
        assert.deepEqual([reply.by, reply.records.length], [[0], 1], name);
      }
    };
    const write = async (writer: number): Promise<void> => {
      for (let i = 0; ; i++) {
        const key = `k${writer}-${i}.zebraspace.v1`;
        const reply = await customer
          .call('POST', '/records', { record: { key, data: PAYLOAD } })
          .catch((error: unknown) => {
            if (isStopping && error instanceof TypeError) return null;
            throw error;
          });
        if (reply === null || reply.status === 503) return;
        assert.equal(reply.status, 201);
        acknowledged.push(key);
      }
    };
    const load = Promise.all([ask(), ask(), write(1), write(2)]);
    try {
      const isWarm = eventually(async () => asked > 30 && acknowledged.length > 10, PATIENCE_MS);
      await Promise.race([load, isWarm]);
      await observed.check(SECRETS);
      observed.end();
      const exit = once(first.child, 'exit');
      isStopping = true;
      first.child.kill('SIGTERM');
      assert.deepEqual(await exit, [0, null]);
      await load;
      assert.equal(observed.count('server.stopped'), 1);
      assert.equal(observed.count('worker.exited'), 0);

      const second = await startUqrp(ENV, first.dataDir);
      assert.deepEqual(await servedKeys(second.ports.dns), keys);
      const { body } = await customer
        .at(`http://127.0.0.1:${second.ports.http}/api/v1`)
        .call('GET', '/records?namespace=zebraspace');
      const stored = new Set((body as { key: string }[]).map(({ key }) => key));
      assert.deepEqual(
        acknowledged.filter((key) => !stored.has(key)),
        [],
      );
      for (const key of acknowledged.slice(-20)) {
        const { records } = await askSigned(second.ports.dns, `get.${key}`, RRTYPE.TXT, [keys]);
        assert.equal(records.length, 1, key);
      }
      await second.stop();
    } finally {
      observed.end();
      await first.remove();
    }
  });
});
