import assert from 'node:assert/strict';
import {
  ALL_FLAGS,
  askFlags,
  base64,
  COUNTRY,
  flagShop,
  oneFlag,
} from '../../../test/support/control/flags/asking.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Answer, type Json, openWorld } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { setPublicRead, setSuspended } from '../namespaces/rules.ts';

apiScenarios('evaluation of flags', {
  'each kind of decision has its answer, alone and among all': async (store) => {
    const world = await openWorld(store);
    const rollout = {
      version: 1,
      variants: { on: 'a', off: 'b' },
      defaultVariant: 'off',
      rollout: { on: 100 },
    };
    const { name, token, owner } = await flagShop(world, {
      static: { version: 1, variants: { on: { color: '#00f' } }, defaultVariant: 'on' },
      rules: COUNTRY,
      rollout,
      'a.list': { version: 1, variants: { l: [1, 2] }, defaultVariant: 'l' },
      disabled: { ...COUNTRY, enabled: false },
      broken: { ...COUNTRY, colour: 'SECRET' },
      text: 'no JSON SECRET',
      sealed: '\u0002abcdefgh0123456789',
    });
    await owner.record(`x.other.${name}.v1`);
    const evaluate = async (key: string, context: object = {}): Promise<[number, Json]> => {
      const { status, json } = await askFlags(world, token, oneFlag(key), { context });
      return [status, json];
    };
    const found = (key: string, value: unknown, reason: string, variant: string) => [
      200,
      { key, value, reason, variant },
    ];
    assert.deepEqual(await evaluate('static'), found('static', { color: '#00f' }, 'STATIC', 'on'));
    assert.deepEqual(
      await evaluate('rules', { country: 'de' }),
      found('rules', true, 'TARGETING_MATCH', 'on'),
    );
    assert.deepEqual(await evaluate('rules', { country: 'at' }), found('rules', false, 'UNKNOWN', 'off'));
    assert.deepEqual(await evaluate('rollout', { targetingKey: 'u' }), found('rollout', 'a', 'SPLIT', 'on'));
    assert.deepEqual(await evaluate('A.List'), found('A.List', [1, 2], 'STATIC', 'l'));
    assert.deepEqual(await evaluate('disabled'), [200, { key: 'disabled', reason: 'DISABLED' }]);
    const failed = (key: string, errorCode: string, errorDetails: string, status = 400) => [
      status,
      { key, errorCode, errorDetails },
    ];
    const missing = failed('rollout', 'TARGETING_KEY_MISSING', 'the rollout needs a targetingKey');
    assert.deepEqual(await evaluate('rollout'), missing);
    const broken = failed('broken', 'PARSE_ERROR', 'the document has a field "colour" that is not known');
    assert.deepEqual(await evaluate('broken'), broken);
    assert.deepEqual(await evaluate('text'), failed('text', 'PARSE_ERROR', 'the document is not JSON'));
    const sealed = failed('sealed', 'PARSE_ERROR', 'the document is encrypted or signed');
    assert.deepEqual(await evaluate('sealed'), sealed);
    for (const key of ['no', 'x', 'x.other', '%20', '..', `static.flags.${name}.v1`, '__proto__']) {
      const shown = decodeURIComponent(key);
      if (key === '..') continue;
      assert.deepEqual(await evaluate(key), failed(shown, 'FLAG_NOT_FOUND', 'there is no such flag', 404));
    }
    const all = await askFlags(world, token, ALL_FLAGS);
    assert.equal(all.status, 200, all.text);
    assert.deepEqual(
      all.json.flags.map((flag: Json) => [flag.key, flag.reason ?? flag.errorCode]),
      [
        ['a.list', 'STATIC'],
        ['broken', 'PARSE_ERROR'],
        ['disabled', 'DISABLED'],
        ['rollout', 'TARGETING_KEY_MISSING'],
        ['rules', 'UNKNOWN'],
        ['sealed', 'PARSE_ERROR'],
        ['static', 'STATIC'],
        ['text', 'PARSE_ERROR'],
      ],
    );
    assert.equal(all.text.includes('SECRET'), false);
    await world.close();
  },

  'the tag is one of the answer: the same context is 304, another country is 200': async (store) => {
    const world = await openWorld(store);
    const { token, owner, records } = await flagShop(world, { rules: COUNTRY });
    const from = (country: string, tag?: string): Promise<Answer> =>
      askFlags(
        world,
        token,
        ALL_FLAGS,
        { context: { targetingKey: 'u', country } },
        tag === undefined ? {} : { 'if-none-match': tag },
      );
    const first = await from('de');
    const tag = String(first.headers.etag);
    assert.match(tag, /^"[\w-]{22}"$/);
    const same = await from('de', tag);
    assert.deepEqual([same.status, same.text, same.headers.etag], [304, '', tag]);
    const other = await from('at', tag);
    assert.deepEqual([other.status, other.json.flags[0].value], [200, false]);
    const changed = { ...COUNTRY, variants: { on: true, off: true } };
    await owner.patch(`/records/${records.get('rules').id}`, { record: { data: base64(changed) } });
    assert.equal((await from('de', tag)).status, 304);
    assert.equal((await from('at', String(other.headers.etag))).status, 200);
    await world.close();
  },

  'a write, a deletion and an expiry are in the next answer': async (store) => {
    const world = await openWorld(store);
    const { token, owner, name, records } = await flagShop(world, { rules: COUNTRY });
    const value = async (key: string): Promise<unknown> => {
      const { json } = await askFlags(world, token, oneFlag(key));
      return json.value ?? json.errorCode;
    };
    assert.equal(await value('rules'), false);
    for (let round = 0; round < 20; round++) {
      const document = { version: 1, variants: { n: round }, defaultVariant: 'n' };
      await owner.patch(`/records/${records.get('rules').id}`, { record: { data: base64(document) } });
      assert.equal(await value('rules'), round);
    }
    await owner.del(`/records/${records.get('rules').id}`);
    assert.equal(await value('rules'), 'FLAG_NOT_FOUND');
    await owner.record(`late.flags.${name}.v1`, { data: base64(COUNTRY), expires_in: 60 });
    assert.equal(await value('late'), false);
    world.advance(60_001);
    assert.equal(await value('late'), 'FLAG_NOT_FOUND');
    assert.deepEqual((await askFlags(world, token, ALL_FLAGS)).json.flags, []);
    await world.close();
  },

  'all credentials that do not count are refused alike; keys without read or reach, and suspended namespaces, with 403':
    async (store) => {
      const world = await openWorld(store);
      const { owner, id, name, token, tokenId } = await flagShop(world, { rules: COUNTRY });
      const [other, foreign] = [await owner.namespace(), await flagShop(world)];
      const named = (namespace: string): string => `/flags/${namespace}${oneFlag('rules')}`;
      const key = await owner.key({ operations: ['read'], namespaces: [name] });
      const both = await owner.key({ namespaces: [name, other.name] });
      const writer = await owner.key({ operations: ['write'], namespaces: [name] });
      const allowed: readonly (readonly [string | null, string])[] = [
        [token, oneFlag('rules')],
        [token.toUpperCase(), oneFlag('rules')],
        [token, named(name.toUpperCase())],
        [key.token, oneFlag('rules')],
        [key.token, named(name)],
        [both.token, named(name)],
      ];
      for (const [credential, path] of allowed)
        assert.equal((await askFlags(world, credential, path)).status, 200);
      const byHeader = await askFlags(world, null, oneFlag('rules'), undefined, { 'x-api-key': token });
      assert.equal(byHeader.status, 200);
      assert.equal((await owner.del(`/namespaces/${id}/query_tokens/${tokenId}`)).status, 204);
      const unknown: readonly (readonly [string | null, string])[] = [
        [null, oneFlag('rules')],
        [null, named(name)],
        [token, oneFlag('rules')],
        [foreign.token, named(name)],
        [foreign.token, named('nobody-has-this')],
        [foreign.token, named('a..b')],
        [owner.token, oneFlag('rules')],
        [both.token, oneFlag('rules')],
        ['0'.repeat(64), named(name)],
        [`svcq${'0'.repeat(52)}`, oneFlag('rules')],
      ];
      const answers = [];
      for (const [credential, path] of unknown) answers.push(await askFlags(world, credential, path));
      for (const { status, text, headers } of answers) {
        assert.deepEqual([status, text, headers['www-authenticate']], [401, '{}', 'Bearer']);
        assert.deepEqual(Object.keys(headers), Object.keys(answers[0]!.headers));
      }
      const refused: readonly (readonly [string, string])[] = [
        [writer.token, oneFlag('rules')],
        [key.token, named(other.name)],
        [key.token, named(foreign.name)],
        [key.token, named('nobody-has-this')],
      ];
      for (const [credential, path] of refused)
        assert.equal((await askFlags(world, credential, path)).status, 403);
      await owner.del(`/api_keys/${key.id}`);
      assert.equal((await askFlags(world, key.token, oneFlag('rules'))).status, 401);
      await world.close();
    },

  'an open namespace needs no credential at its own path; of a suspended one nothing is told to strangers':
    async (store) => {
      const world = await openWorld(store);
      const { name, token } = await flagShop(world, { rules: COUNTRY });
      const status = async (credential: string | null, path = `/flags/${name}${oneFlag('rules')}`) =>
        (await askFlags(world, credential, path)).status;
      assert.deepEqual([await status(null), await status(token)], [401, 200]);
      await setPublicRead(world.deps, name, true);
      assert.deepEqual([await status(null), await status('x'), await status(token)], [200, 200, 200]);
      assert.equal(await status(null, oneFlag('rules')), 401);
      const { json } = await askFlags(world, null, `/flags/${name}${ALL_FLAGS}`);
      assert.equal(json.eventStreams[0].endpoint.requestUri, `/flags/${name}/ofrep/v1/events`);
      await setSuspended(world.deps, name, true);
      assert.deepEqual([await status(null), await status(token)], [401, 403]);
      await setSuspended(world.deps, name, false);
      await setPublicRead(world.deps, name, false);
      assert.deepEqual([await status(null), await status(token)], [401, 200]);
      await world.close();
    },

  'what is wrong with a request is told without repeating it': async (store) => {
    const world = await openWorld(store);
    const { token } = await flagShop(world, { rules: COUNTRY });
    const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
    const long = 'x'.repeat(LIMITS.flagContextText + 1);
    const wrong: readonly (readonly [unknown, string])[] = [
      [{ context: 'MARKER' }, 'INVALID_CONTEXT'],
      [{ context: ['MARKER'] }, 'INVALID_CONTEXT'],
      [{ context: null }, 'INVALID_CONTEXT'],
      [{ context: { targetingKey: 7 } }, 'INVALID_CONTEXT'],
      [{ context: nested(LIMITS.flagContextDepth + 1) }, 'INVALID_CONTEXT'],
      [{ context: { MARKER: long } }, 'INVALID_CONTEXT'],
      [{ context: { [long]: 'MARKER' } }, 'INVALID_CONTEXT'],
      [{ context: { a: [long] } }, 'INVALID_CONTEXT'],
      ['{"context": {"MARKER"', 'GENERAL'],
      ['["MARKER"]', 'GENERAL'],
      ['', 'GENERAL'],
      [{ context: { a: ' '.repeat(LIMITS.flagBody) } }, 'GENERAL'],
    ];
    for (const [body, code] of wrong) {
      for (const path of [ALL_FLAGS, oneFlag('rules')]) {
        const { status, json, text } = await askFlags(world, token, path, body);
        assert.deepEqual([status, json.errorCode], [400, code], text);
        assert.equal(json.key, path === ALL_FLAGS ? undefined : 'rules');
        assert.equal(text.includes('MARKER'), false);
      }
    }
    const plain = await askFlags(world, token, ALL_FLAGS, '{}', { 'content-type': 'text/plain' });
    assert.deepEqual([plain.status, plain.json.errorCode], [400, 'GENERAL']);
    const coded = await askFlags(world, token, ALL_FLAGS, '{}', { 'content-encoding': 'gzip' });
    assert.deepEqual([coded.status, coded.json.errorCode], [400, 'GENERAL']);
    const right: readonly unknown[] = [
      {},
      { context: nested(LIMITS.flagContextDepth) },
      { context: { [long.slice(1)]: long.slice(1) } },
      { context: { a: null, b: true, c: [1, 'x'] }, other: 1 },
    ];
    for (const body of right)
      assert.equal((await askFlags(world, token, oneFlag('rules'), body)).status, 200);
    await world.close();
  },

  'a page of every origin may ask': async (store) => {
    const world = await openWorld(store);
    const { token, name } = await flagShop(world, { rules: COUNTRY });
    for (const path of [
      ALL_FLAGS,
      oneFlag('rules'),
      `/flags/${name}${ALL_FLAGS}`,
      `/flags/${name}${oneFlag('rules')}`,
    ]) {
      const origin = { origin: 'https://shop.example' };
      const { status, headers } = await world.inject({ method: 'OPTIONS', url: path, headers: origin });
      assert.equal(status, 204);
      assert.equal(headers['access-control-allow-origin'], '*');
      assert.equal(
        headers['access-control-allow-headers'],
        'Authorization, X-API-Key, Content-Type, If-None-Match',
      );
      for (const credential of [token, null]) {
        const answer = await askFlags(world, credential, path, undefined, origin);
        assert.equal(answer.headers['access-control-allow-origin'], '*');
        assert.equal(answer.headers['access-control-expose-headers'], 'ETag, Retry-After');
      }
    }
    await world.close();
  },
});
