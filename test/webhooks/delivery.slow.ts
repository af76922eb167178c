import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Account, account, type Uqrp } from '../support/server-process.ts';
import { createHook, deliveriesOf, until, verified } from './hooks.ts';
import { DOMAIN, openWorld, RECEIVER, type World } from './world.ts';

const REBINDING = `rebinding.${DOMAIN}`;
const MIXED = `mixed.${DOMAIN}`;
const PRIVATE = `private.${DOMAIN}`;

describe('webhooks from outside', () => {
  let world: World;
  let server: Uqrp;
  let customer: Account;

  before(async () => {
    world = await openWorld(4, {
      // Public when it is registered and tested for it, private from then on.
      [REBINDING]: (_host, nth) => (nth === 1 ? [RECEIVER] : ['127.0.0.1']),
      [MIXED]: () => [RECEIVER, '10.0.0.1'],
      [PRIVATE]: () => ['169.254.169.254'],
    });
    server = await world.start({ UQRP_WEBHOOK_SCHEDULE: '0,0.2,0.2', UQRP_WORKERS: '1' });
    customer = account(server);
  });
  after(async () => {
    await server?.remove();
    await world?.close();
  });

  it('delivers the four events in order, signed so that others find it good', async () => {
    const hook = await createHook(customer, world.url('ok', 0));
    const created = await customer.call('POST', '/namespaces', { namespace: { name: 'outside' } });
    const { id } = created.body as { id: string };
    const key = 'greeting.outside.v1';
    await customer.call('POST', '/records', { record: { key, data: 'aGk=', content_type: 'text/plain' } });
    // A record deleted before its event was enqueued is sent without its data.
    await until('two deliveries', async () => (await deliveriesOf(customer, hook)).length === 2);
    await customer.call('DELETE', `/namespaces/${id}`);
    await until('four deliveries', async () => {
      const all = await deliveriesOf(customer, hook, '?status=succeeded');
      return all.length === 4;
    });
    const told = (await world.take()).map((arrival) => verified(arrival, hook.signing_secret));
    assert.deepEqual(
      told.map(({ event }) => event),
      ['namespace.upserted', 'record.upserted', 'record.deleted', 'namespace.deleted'],
    );
    const first = told[0]!.seq;
    assert.deepEqual(
      told.map(({ seq }) => seq - first),
      [0, 1, 2, 3],
    );
    assert.deepEqual(told[1]?.data, {
      key,
      namespace: 'outside',
      resource: 'greeting',
      version: 'v1',
      content_type: 'text/plain',
      ttl_seconds: 300,
      data: 'aGk=',
    });
    assert.deepEqual(told[2]?.data, { key, namespace: 'outside' });
    assert.deepEqual(told[3]?.data, { namespace: 'outside' });
    assert.ok(!JSON.stringify(told).includes('test@example.net'));
    await customer.call('DELETE', `/webhooks/${hook.id}`);
  });

  it('tries a failing endpoint again with the same id and octets, and follows no redirect', async () => {
    for (const [kind, error, code] of [
      ['fail', 'http_status', 500],
      ['move', 'redirect', 302],
    ] as const) {
      await world.take();
      const hook = await createHook(customer, world.url(kind, 1), ['namespace.upserted']);
      await customer.call('POST', '/namespaces', { namespace: { name: `again-${kind}` } });
      // In addition to the schedule, a webhook pauses 1 s after its first failure and 2 s after the next.
      await until(
        'the end of it',
        async () => (await deliveriesOf(customer, hook, '?status=failed')).length === 1,
      );
      const [delivery] = await deliveriesOf(customer, hook);
      assert.deepEqual([delivery?.error, delivery?.response_code, delivery?.attempts], [error, code, 3]);
      const arrivals = await world.take();
      assert.equal(arrivals.length, 3);
      assert.deepEqual(
        new Set(arrivals.map(({ headers }) => headers['x-service-delivery'])),
        new Set([delivery?.id]),
      );
      assert.equal(new Set(arrivals.map(({ body }) => body)).size, 1);
      for (const arrival of arrivals) verified(arrival, hook.signing_secret);
      await customer.call('DELETE', `/webhooks/${hook.id}`);
    }
  });

  it('refuses private targets when they are registered, and one that turns private when it is called', async () => {
    for (const host of [MIXED, PRIVATE, '10.0.0.1', '127.0.0.1', '[::1]', 'localhost', '0x7f.1']) {
      const body = { webhook: { name: 'hook', url: `https://${host}/`, events: ['record.deleted'] } };
      assert.equal((await customer.call('POST', '/webhooks', body)).status, 422, host);
    }
    const hook = await createHook(customer, `https://${REBINDING}/`, ['namespace.upserted']);
    await customer.call('POST', '/namespaces', { namespace: { name: 'rebound' } });
    await until('a blocked attempt', async () => {
      const [delivery] = await deliveriesOf(customer, hook);
      return delivery?.error === 'blocked_address';
    });
    assert.deepEqual(await world.take(), []);
    const test = await customer.call('POST', `/webhooks/${hook.id}/test`);
    assert.equal(test.status, 422);
    await customer.call('DELETE', `/webhooks/${hook.id}`);
  });

  it('answers a test with what the endpoint made of it', async () => {
    const hook = await createHook(customer, world.url('ok', 2));
    const { status, body } = await customer.call('POST', `/webhooks/${hook.id}/test`);
    assert.equal(status, 200);
    const { delivery } = body as { delivery: { status: string; response_code: number } };
    assert.deepEqual([delivery.status, delivery.response_code], ['succeeded', 204]);
    const [arrival] = await world.take();
    const told = verified(arrival!, hook.signing_secret);
    assert.deepEqual(Object.keys(told), ['event', 'timestamp', 'data']);
    const hung = await createHook(customer, world.url('hang', 0));
    const late = await customer.call('POST', `/webhooks/${hung.id}/test`);
    assert.equal((late.body as { delivery: { error: string } }).delivery.error, 'timeout');
    for (const one of [hook, hung]) await customer.call('DELETE', `/webhooks/${one.id}`);
  });

  it('ends in good order while an endpoint keeps it waiting, and goes on from there', async () => {
    const hook = await createHook(customer, world.url('hang', 1), ['namespace.upserted']);
    await world.take();
    await customer.call('POST', '/namespaces', { namespace: { name: 'ended' } });
    await until('an attempt', async () => (await world.take()).length === 1);
    await server.stop();
    assert.equal(server.child.exitCode, 0);
    server = await world.start({ UQRP_WORKERS: '1' }, server.dataDir);
    customer = customer.at(`http://127.0.0.1:${server.ports.http}/api/v1`);
    const [delivery] = await deliveriesOf(customer, hook);
    assert.deepEqual([delivery?.status, delivery?.error], ['pending', 'timeout']);
  });
});
