import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom } from '../random.ts';
import { FIELDS, KEY, Told } from './by-hand.ts';
import { createErasureCheck } from './erasure.ts';
import { createPayloads, payloadNumber, payloadsIn } from './payloads.ts';

const random = createRandom(1, 1);

function begun(isOwed = false) {
  const told = new Told().begin();
  const payloads = createPayloads();
  const check = createErasureCheck(told.model, { boundMs: 10_000, isOwed: () => isOwed });
  const put = (id: string, data: string, status = 201, fields: object = {}): void => {
    const record = { key: KEY, data, ...FIELDS, ...fields };
    told.do('POST', '/records', { record }, status, status === 201 ? { id, ...record } : null);
  };
  const later = (ms: number): void => {
    told.ms += ms;
    told.model.event(told.ms);
  };
  return { told, check, put, later, data: payloads.next(random), other: payloads.next(random) };
}

const raw = (data: string): Buffer => Buffer.concat([Buffer.from('head'), Buffer.from(data, 'base64')]);

describe('the model of erasure', () => {
  it('finds payloads as they are and in Base64, wherever they begin', () => {
    const data = createPayloads().next(random);
    const number = payloadNumber(data);
    assert.deepEqual([...payloadsIn(raw(data))], [number]);
    assert.deepEqual([...payloadsIn(Buffer.from(`{"data":"${data}"}`))], [number]);
    assert.deepEqual([...payloadsIn(Buffer.from('payload: ?? cGF5bG9hZDog??'))], []);
  });

  it('what is there may be found; what was deleted only until the bound', () => {
    const { told, check, put, later, data } = begun();
    put('r1', data);
    later(20_000);
    check.look('a file', raw(data));
    told.do('DELETE', '/records/r1', undefined, 204);
    check.look('a file', raw(data));
    later(20_000);
    assert.throws(() => check.look('a file', raw(data)), /a file still has payload: /);
    assert.throws(() => check.look('a log', Buffer.from(data)), /a log still has/);
  });

  it('a PATCH of other fields keeps the payload, one of data does not', () => {
    const { told, check, put, later, data, other } = begun();
    put('r1', data);
    told.do('PATCH', '/records/r1', { record: { ttl_seconds: 9 } }, 200, {
      id: 'r1',
      key: KEY,
      data,
      ...FIELDS,
    });
    later(20_000);
    check.look('a file', raw(data));
    told.do('PATCH', '/records/r1', { record: { data: other } }, 200, {
      id: 'r1',
      key: KEY,
      data: other,
      ...FIELDS,
    });
    later(20_000);
    assert.throws(() => check.look('a file', raw(data)), /still has/);
  });

  it('a PATCH without data that takes the end away keeps the data', () => {
    const { told, check, put, later, data } = begun();
    put('r1', data, 201, { expires_at: new Date(told.ms + 5000).toISOString() });
    const answer = { id: 'r1', key: KEY, data, ...FIELDS };
    told.do('PATCH', '/records/r1', { record: { expires_in: 0 } }, 200, answer);
    later(40_000);
    check.look('a file', raw(data));
  });

  it('what was refused is nowhere, and what has expired goes', () => {
    const { told, check, put, later, data, other } = begun();
    put('r1', data, 422);
    put('r2', other, 201, { expires_at: new Date(told.ms + 5000).toISOString() });
    check.look('a file', raw(data));
    later(10_000);
    check.look('a file', raw(other));
    later(20_000);
    assert.throws(() => check.look('a file', raw(data)), /still has/);
    assert.throws(() => check.look('a file', raw(other)), /still has/);
  });

  it('what an endpoint waits for, and what nobody can know, is kept', () => {
    const { check, put, later, data } = begun(true);
    put('r1', data, 422);
    later(20_000);
    check.look('a file', raw(data));
    const open = begun();
    open.told.model.lost(
      open.told.step(),
      open.told.send('POST', '/records', { record: { key: KEY, data } }),
      true,
    );
    open.later(20_000);
    open.check.look('a file', raw(data));
  });
});
