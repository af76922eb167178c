import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { base64, KEY, Told } from './by-hand.ts';
import { createWebhooksCheck } from './webhooks.ts';

const URL = 'https://hooks.example.com/1';
const SECRETS = ['a', 'b'].map((letter) => letter.repeat(64));

/** Events that arrive at one endpoint, each in a second of its own. */
class Hooked extends Told {
  /** Milliseconds of the last fault. */
  disturbedAt = Number.NEGATIVE_INFINITY;
  skewMs = 0;
  created = new Date(1000).toISOString();
  readonly check = createWebhooksCheck(this.model, {
    graceMs: () => 0,
    skewMs: () => this.skewMs,
    wasDisturbedSince: (ms) => this.disturbedAt >= ms,
    schedule: [0, 5, 300],
  });

  hook(fields: object = {}): this {
    const webhook = { url: URL, events: ['record.upserted'], ...fields };
    this.do('POST', '/webhooks', { webhook }, 201, { id: 'w1', signing_secret: SECRETS[0] });
    return this;
  }

  arrive(
    seq: number,
    data: object,
    more: { secret?: string; status?: number; event?: string; id?: string } = {},
  ): void {
    const { secret = SECRETS[0]!, status = 204, event = 'record.upserted', id = `d${seq}` } = more;
    const body = Buffer.from(JSON.stringify({ event, seq, created_at: this.created, data }));
    const at = this.step();
    const t = Math.floor(at / 1000);
    const v1 = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
    const headers = {
      'x-service-event': event,
      'x-service-delivery': id,
      'x-service-signature': `t=${t},v1=${v1}`,
    };
    this.check.received({ at, url: URL, headers, body, status });
  }
}

const LABELS = {
  namespace: 'acme',
  resource: 'doc',
  version: 'v1',
  content_type: 'text/plain',
  ttl_seconds: 300,
};
const upserted = (text: string): object => ({ key: KEY, ...LABELS, data: base64(text) });
const begun = (): Hooked => new Hooked().begin() as Hooked;

describe('the model of webhooks', () => {
  it('each event of the account arrives, signed and in order', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    assert.match(told.check.missing()!, /never got k\.doc/);
    told.arrive(1, upserted('one'));
    assert.equal(told.check.missing(), null);
    told.do('PATCH', '/records/r1', { record: { data: base64('two') } }, 200, { id: 'r1' });
    told.arrive(3, upserted('two'));
    assert.throws(() => told.arrive(2, upserted('one')), /comes after 3/);
    assert.throws(() => told.arrive(4, upserted('two'), { secret: SECRETS[1]! }), /signature/i);
    told.disturbedAt = Number.POSITIVE_INFINITY;
    told.arrive(2, upserted('one'));
  });

  it('events that a clock an hour ahead has dated may come out of order after a fault (seed 2056284939)', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    told.do('PATCH', '/records/r1', { record: { data: base64('two') } }, 200, { id: 'r1' });
    told.created = new Date(3_600_000).toISOString();
    told.disturbedAt = 2000;
    told.arrive(3, upserted('two'));
    assert.throws(() => told.arrive(2, upserted('one')), /comes after 3/);
    told.skewMs = 3_599_000;
    told.arrive(2, upserted('one'));
  });

  it('of a change without an answer nobody knows, so that either endpoint may have the event', () => {
    const told = begun().hook();
    const url = 'https://hooks.example.com/2';
    told.answer(told.send('PATCH', '/webhooks/w1', { webhook: { url } }), 500);
    told.write('r1', 'one');
    assert.match(told.check.missing()!, /never got k\.doc/);
    told.arrive(1, upserted('one'));
    assert.equal(told.check.missing(), null);
    told.answer(told.send('PATCH', '/webhooks/w1', { webhook: { events: ['record.deleted'] } }), 500);
    told.write('r1', 'two');
    assert.equal(told.check.missing(), null);
  });

  it('an endpoint is owed what it has not got, also one that was asked for without an answer', () => {
    const told = begun();
    const owed = (): boolean => told.check.isOwed('a', base64('one'));
    told.write('r1', 'one');
    const webhook = { url: URL, events: ['record.upserted'] };
    told.do('POST', '/webhooks', { webhook }, 422);
    assert.equal(owed(), false);
    told.answer(told.send('POST', '/webhooks', { webhook: { ...webhook, url: `${URL}1` } }), 500);
    assert.equal(owed(), true);
    assert.equal(told.check.isOwed('b', base64('one')), false);
  });

  it('a delivery that arrives before the answer to its webhook comes again, after others', () => {
    const told = begun();
    told.write('r1', 'one');
    const asked = told.send('POST', '/webhooks', { webhook: { url: URL, events: ['record.upserted'] } });
    told.arrive(1, upserted('one'), { status: 500 });
    told.answer(asked, 201, { id: 'w1', signing_secret: SECRETS[0] });
    told.do('PATCH', '/records/r1', { record: { data: base64('two') } }, 200, { id: 'r1' });
    told.arrive(2, upserted('two'));
    for (let second = 0; second < 6; second++) told.step();
    told.arrive(1, upserted('one'));
    assert.throws(() => told.arrive(1, upserted('one'), { id: 'd9' }), /comes after 2/);
  });

  it('no event that is dated after a restore has a number of before', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    told.arrive(7, upserted('one'));
    told.model.restored(told.step(), told.model.now());
    told.check.restored();
    told.write('r1', 'two');
    told.arrive(6, upserted('one'), { id: 'kept by the backup' });
    told.created = new Date(told.ms).toISOString();
    assert.throws(() => told.arrive(7, upserted('two'), { id: 'd' }), /a number of before 7/);
    told.arrive(8, upserted('two'));
    assert.throws(() => told.arrive(7, upserted('two'), { id: 'd' }), /a number of before 7/);
    told.skewMs = told.ms;
    told.disturbedAt = Number.POSITIVE_INFINITY;
    told.arrive(7, upserted('two'), { id: 'by a clock that is ahead' });
  });

  it('nothing arrives that nobody wrote, or that was not asked for', () => {
    const told = begun().hook({ scopes: { namespaces: ['other'] } });
    told.write('r1', 'one');
    assert.throws(() => told.arrive(1, upserted('one')), /outside of its scope/);
    assert.equal(told.check.missing(), null);
    told.do('PATCH', '/webhooks/w1', { webhook: { scopes: { namespaces: [] } } }, 200);
    assert.throws(() => told.arrive(1, upserted('none')), /nobody wrote/);
    assert.throws(
      () => told.arrive(1, { key: KEY, namespace: 'acme' }, { event: 'record.deleted' }),
      /not asked for/,
    );
    assert.throws(() => told.arrive(1, { ...upserted('one'), namespace: 'strange' }), /somebody else/);
  });

  it('an attempt is made again by the schedule, at most as often as it says', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    const body = upserted('one');
    told.arrive(1, body, { status: 500 });
    assert.throws(() => told.arrive(1, { ...body, ttl_seconds: 9 }), /another body under the same id/);
    assert.throws(() => told.arrive(1, body), /again after 2000 ms/);
    told.ms += 5000;
    told.arrive(1, body);
    told.ms += 300_000;
    told.arrive(1, body);
    told.disturbedAt = Number.POSITIVE_INFINITY;
    assert.throws(() => told.arrive(1, body), /attempt 4/);
  });

  it('who asks for a delivery gets it at once, and no attempt more than there are', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    const body = upserted('one');
    told.arrive(1, body, { status: 500 });
    told.do('POST', '/webhooks/w1/deliveries/d1/redeliver', undefined, 200);
    told.arrive(1, body, { status: 500 });
    told.arrive(1, body, { status: 500 });
    assert.throws(() => told.arrive(1, body), /attempt 4/);
  });

  it('nothing is owed when no delivery waits any more', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    told.arrive(1, upserted('one'), { status: 500 });
    assert.equal(told.check.isOwed('a', base64('one')), true);
    told.check.ended();
    assert.equal(told.check.isOwed('a', base64('one')), false);
  });

  it('nothing arrives after the webhook is disabled or deleted, and its old secret ends', () => {
    const told = begun().hook();
    told.write('r1', 'one');
    told.do('POST', '/webhooks/w1/regenerate_secret', undefined, 200, { signing_secret: SECRETS[1] });
    assert.throws(() => told.arrive(1, upserted('one')), /signature/i);
    told.arrive(1, upserted('one'), { secret: SECRETS[1]! });
    told.do('PATCH', '/webhooks/w1', { webhook: { enabled: false } }, 200);
    assert.throws(() => told.arrive(2, upserted('one'), { secret: SECRETS[1]! }), /is disabled/);
    told.do('PATCH', '/webhooks/w1', { webhook: { enabled: true } }, 200);
    told.do('DELETE', '/webhooks/w1', undefined, 204);
    assert.throws(() => told.arrive(2, upserted('one'), { secret: SECRETS[1]! }), /was deleted/);
  });
});
