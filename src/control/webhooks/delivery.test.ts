import assert from 'node:assert/strict';
import { describe } from 'node:test';
import Stripe from 'stripe';
import {
  type DispatchRun,
  delivered,
  dispatchScenario,
  type Started,
} from '../../../test/support/control/webhooks/dispatch-run.ts';
import {
  addCustomer,
  addWebhook,
  deliveriesOf,
  ENGINES,
  enqueue,
  until,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import {
  type Answer,
  type Endpoint,
  openEndpoint,
  type Received,
} from '../../../test/support/control/webhooks/endpoint.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { createOutboundClient } from '../../outbound/outbound-client.ts';
import type { TargetPolicy } from '../../outbound/target.ts';
import { createSendAttempt } from './send-attempt.ts';

/** A policy for tests, whose servers can only be local. */
const ANYWHERE: TargetPolicy = { allows: () => true, admits: () => true };

function startReal(run: DispatchRun, endpoint: Endpoint): Started {
  const client = createOutboundClient({
    policy: ANYWHERE,
    resolve: async () => ['127.0.0.1'],
    deadlineMs: 5000,
    ca: endpoint.cert,
  });
  return run.start({ sendAttempt: createSendAttempt(client, () => run.now, realTimers) });
}

function seqOf({ body }: Received): number {
  return (JSON.parse(body.toString()) as { seq: number }).seq;
}

function stampOf({ headers }: Received): number {
  return Number(/^t=(\d+),/.exec(String(headers['x-service-signature']))?.[1]);
}

for (const { name, create, skip } of ENGINES) {
  describe(`deliveries to real endpoints on ${name}`, { skip }, () => {
    const scenario = (
      title: string,
      answer: Answer,
      run: (run: DispatchRun, endpoint: Endpoint) => Promise<void>,
    ) =>
      dispatchScenario(create, title, async (dispatch) => {
        const endpoint = await openEndpoint(answer);
        try {
          await run(dispatch, endpoint);
        } finally {
          await endpoint.close();
        }
      });

    const failures = new Map<string, number>();
    scenario(
      'are the same octets on every attempt with a new signature, and ascend',
      (received, response) => {
        const id = String(received.headers['x-service-delivery']);
        const seen = failures.get(id) ?? 0;
        failures.set(id, seen + 1);
        if (seqOf(received) === 2 && seen === 0) {
          response.writeHead(503, { 'retry-after': '8' }).end('not now');
        } else response.writeHead(200).end('thanks');
      },
      async (run, endpoint) => {
        const signing_secret = Buffer.from('d4'.repeat(32));
        const url = `${endpoint.origin}/path?and=query`;
        const id = await addWebhook(run.store, await addCustomer(run.store), { url, signing_secret });
        const began = run.now;
        await enqueue(run.store, id, 5, began);
        startReal(run, endpoint);
        await until(
          'the failure is recorded',
          async () => (await webhookOf(run.store, id)).failure_count === 1,
        );
        const [, second] = await deliveriesOf(run.store, id);
        assert.deepEqual([second!.error, second!.response_code], ['http_status', 503]);
        // What it asked for lies between the delay and twice that.
        assert.equal(second!.next_attempt_at, began + 8000);
        run.pass(1000);
        await delivered(run.store, id, 4);
        run.pass(7000);
        await delivered(run.store, id, 5);
        assert.deepEqual(endpoint.received.map(seqOf), [1, 2, 3, 4, 5, 2]);
        const [one, other] = [endpoint.received[1]!, endpoint.received[5]!];
        assert.deepEqual(one.body, other.body);
        assert.equal(one.headers['x-service-delivery'], second!.id);
        assert.equal(other.headers['x-service-delivery'], second!.id);
        assert.deepEqual([stampOf(one), stampOf(other)], [began / 1000, began / 1000 + 8]);
        for (const { path, headers, body } of endpoint.received) {
          assert.equal(path, '/path?and=query');
          const signature = String(headers['x-service-signature']);
          Stripe.webhooks.signature!.verifyHeader(body, signature, 'd4'.repeat(32), 300, undefined, run.now);
        }
      },
    );

    scenario(
      'to a silent endpoint do not delay others',
      ({ path }, response) => {
        if (path === '/good') response.writeHead(204).end();
      },
      async (run, endpoint) => {
        const user = await addCustomer(run.store);
        const silent = await addWebhook(run.store, user, { url: `${endpoint.origin}/silent` });
        const good = await addWebhook(run.store, user, { url: `${endpoint.origin}/good` });
        await enqueue(run.store, silent, 3, run.now);
        const dispatcher = startReal(run, endpoint);
        await until('it says nothing', () => endpoint.received.length === 1);
        await enqueue(run.store, good, 20, run.now);
        await delivered(run.store, good, 20);
        assert.equal((await webhookOf(run.store, silent)).failure_count, 0);
        // What is under way is ended before all is stopped: here by the server that goes away.
        const stopped = dispatcher.stop();
        await endpoint.close();
        await stopped;
        const [first, second] = await deliveriesOf(run.store, silent);
        assert.deepEqual([first!.error, first!.attempts], ['connection_failed', 1]);
        assert.deepEqual([second!.status, second!.attempts], ['pending', 0]);
      },
    );
  });
}
