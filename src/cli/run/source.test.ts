import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reply, type Step, scripted } from '../../../test/support/sdk/scripted-server.ts';
import { InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { loadConfig } from '../../ops/config/config.ts';
import { isAway, openRest } from '../rest.ts';
import { isRefusal, type ValueSource, valueSource } from './source.ts';

const sourceAt = (base: string, resource?: string): ValueSource =>
  valueSource(openRest(base, loadConfig({}), 'a'.repeat(64)), 'shop', resource);
const row = (name: string, octets: number) => ({
  key: `${name}.env.shop.v1`,
  data: Buffer.alloc(octets, 'x').toString('base64'),
  content_type: 'text/plain',
  ttl_seconds: 300,
});
const KEY_LENGTH = row('a', 0).key.length;
const refusal = (status: number, code: string): Step => reply(status, { error: 'no', code });

describe('the values of a namespace', () => {
  for (const [what, steps, isExpectedRefusal, isExpectedAway] of [
    ['401 of the server', [refusal(401, 'authentication_error')], true, false],
    ['403 of the server', [refusal(403, 'authorization_error')], true, false],
    ['404 of the server', [refusal(404, 'not_found')], false, false],
    ['408 of the server', [refusal(408, 'validation_error')], false, true],
    ['401 of a proxy', [reply(401, '<html>')], false, true],
    ['403 of a proxy', [reply(403, '<html>')], false, true],
    ['404 of a proxy', [reply(404, '<html>')], false, true],
    ['a namespace that the token does not reach', [reply(200, [])], true, false],
    ['records without data', [reply(200, [{ key: 'a.env.shop.v1' }])], true, false],
    ['too many octets', [reply(200, [row('a', LIMITS.runOctets - KEY_LENGTH), row('b', 0)])], false, false],
  ] as const) {
    it(`${what}: whether the credential is refused, and whether the server is away`, async () => {
      await using server = await scripted(...steps);
      const error = await sourceAt(server.base)
        .read()
        .then(
          () => null,
          (reason: unknown) => reason,
        );
      assert.deepEqual([isRefusal(error), isAway(error)], [isExpectedRefusal, isExpectedAway]);
      assert.equal(error instanceof InputError, !(error instanceof Error && 'status' in error));
    });
  }

  it('are read to the last octet of the limit', async () => {
    await using server = await scripted(reply(200, [row('a', LIMITS.runOctets - KEY_LENGTH)]));
    const { records, kept } = await sourceAt(server.base).read();
    assert.equal(records[0]!.key.length + records[0]!.data.length, LIMITS.runOctets);
    assert.match(kept[0]!.envelope, /^v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=eHh4/);
  });

  it('are not waited for once the signal aborts, while the server answers nothing (end of a program in an outage)', async () => {
    for (const [answers, ask] of [
      [[], 'cursor'],
      [[], 'read'],
      [[reply(200, [row('a', 1)], { link: '</x?cursor=b>; rel="next"' })], 'read'],
      [[reply(200, [])], 'read'],
    ] as const) {
      const ending = new AbortController();
      const reason = new Error('the program has ended');
      await using server = await scripted(...answers, () => ending.abort(reason));
      await assert.rejects(sourceAt(server.base)[ask](ending.signal), reason);
      assert.equal(server.seen.length, answers.length + 1);
    }
  });

  it('may be others after a change of their resource or of the namespace', async () => {
    for (const [key, isOurs] of [
      ['a.env.shop.v1', true],
      ['a.flags.shop.v1', false],
      [undefined, true],
    ] as const) {
      await using server = await scripted(reply(200, { changes: [{ key }], next: 'b' }));
      const { signal } = new AbortController();
      assert.deepEqual(await sourceAt(server.base, 'env').changes('a', signal), { next: 'b', isOurs });
      assert.match(server.seen[0]!.url, /^\/api\/v1\/changes\?since=a&namespace=shop&wait=55$/);
      await using any = await scripted(reply(200, { changes: [{ key }], next: 'b' }));
      assert.equal((await sourceAt(any.base).changes('a', signal)).isOurs, true);
    }
  });
});
