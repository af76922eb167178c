import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fastify, { type FastifyInstance } from 'fastify';
import { type OpsOptions, opsRoutes, type Readiness } from './ops-routes.ts';

async function served(
  readiness: () => Readiness,
  metricsFor: OpsOptions['metricsFor'] = 'this host',
): Promise<FastifyInstance> {
  const app = fastify();
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'Not found', code: 'not_found' }),
  );
  const metrics = { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: async () => 'uqrp_x 1\n' };
  await app.register(opsRoutes, { readiness, metrics, metricsFor });
  return app;
}

const READY: Readiness = { ready: true, reasons: [] };

describe('ops routes', () => {
  it('says that the process lives and whether it is ready', async () => {
    let now: Readiness = { ready: false, reasons: ['starting', 'feed'] };
    const app = await served(() => now);
    assert.equal((await app.inject('/livez')).statusCode, 200);
    const before = await app.inject('/readyz');
    assert.equal(before.statusCode, 503);
    assert.deepEqual(before.json(), { ready: false, reasons: ['starting', 'feed'] });
    now = READY;
    const after = await app.inject('/readyz');
    assert.equal(after.statusCode, 200);
    assert.deepEqual(after.json(), { ready: true });
    now = { ...READY, feed: { stale: true, seq: 3, seconds: 7200.5 } };
    const cutOff = await app.inject('/readyz');
    assert.equal(cutOff.statusCode, 200);
    assert.deepEqual(cutOff.json(), { ready: true, stale: true, lag: { changes: 3, seconds: 7200.5 } });
    assert.equal(after.headers['cache-control'], 'no-store');
    await app.close();
  });

  const ASKERS: readonly [string, Record<string, string>, number][] = [
    ['127.0.0.1', {}, 200],
    ['127.255.0.9', {}, 200],
    ['::1', {}, 200],
    ['::ffff:127.0.0.1', {}, 200],
    ['::ffff:192.0.2.1', {}, 404],
    ['192.0.2.1', {}, 404],
    ['2001:db8::1', {}, 404],
    ['127.0.0.1', { host: 'localhost:8080' }, 200],
    ['127.0.0.1', { host: 'LOCALHOST' }, 200],
    ['127.0.0.1', { host: '127.0.0.1:8080' }, 200],
    ['::1', { host: '[::1]:8080' }, 200],
    ['127.0.0.1', { host: 'rebound.example:8080' }, 404],
    ['127.0.0.1', { host: '192.0.2.1:8080' }, 404],
    ['127.0.0.1', { host: 'localhost.example' }, 404],
    ['127.0.0.1', { 'x-forwarded-for': '192.0.2.1' }, 404],
    ['127.0.0.1', { forwarded: 'for=192.0.2.1' }, 404],
  ];
  for (const [remoteAddress, headers, status] of ASKERS) {
    it(`answers ${status} to ${remoteAddress} ${JSON.stringify(headers)}`, async () => {
      const app = await served(() => READY);
      const reply = await app.inject({ url: '/metrics', remoteAddress, headers });
      assert.equal(reply.statusCode, status);
      if (status === 200) assert.equal(reply.body, 'uqrp_x 1\n');
      else assert.deepEqual(reply.json(), { error: 'Not found', code: 'not_found' });
      await app.close();
    });
  }

  it('gives metrics to nobody where they have a listener of their own', async () => {
    const rest = await served(() => READY, 'nobody');
    const local = { url: '/metrics', remoteAddress: '127.0.0.1', headers: { host: 'localhost' } };
    assert.equal((await rest.inject(local)).statusCode, 404);
    assert.equal((await rest.inject('/livez')).statusCode, 200);
    await rest.close();
  });
});
