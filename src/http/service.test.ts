import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { newName, openWorld, PUBLIC_URL } from '../../test/support/http/world.ts';
import { LIMITS, TIERS } from '../base/limits.ts';
import type { Store } from '../store/store.ts';

apiScenarios('service', {
  'the document and the facts need no credential, and are not sent again while they are the same': async (
    store: Store,
  ) => {
    const world = await openWorld(store);
    const nobody = world.caller(null);
    for (const path of ['/openapi.json', '/meta']) {
      const answer = await nobody.get(path);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['cache-control'], 'public, max-age=300');
      const tag = String(answer.headers.etag);
      const again = await nobody.send('GET', path, undefined, { 'if-none-match': tag });
      assert.equal(again.status, 304);
      assert.equal(again.text, '');
      assert.equal((await world.caller('0'.repeat(64)).get(path)).status, 200);
      assert.equal((await nobody.get(`${path}?x=1`)).status, 400);
    }
    assert.equal((await nobody.get('/openapi.json')).json.servers[0].url, `${PUBLIC_URL}/api/v1`);
    await world.close();
  },

  'the facts are those that the server goes by': async (store: Store) => {
    const world = await openWorld(store);
    const { json } = await world.caller(null).get('/meta');
    assert.deepEqual(json.zones, ['uqrp.net']);
    assert.deepEqual(json.endpoints, {
      rest: `${PUBLIC_URL}/api/v1`,
      dns: { host: 'api.example.test', port: 5300 },
      dot: { host: 'api.example.test', port: 8853 },
      doh: 'https://api.example.test:8443/dns-query',
      resolve: 'https://api.example.test:8443/resolve',
      schema: 'https://api.example.test:8443/schema',
    });
    assert.deepEqual(json.tiers, TIERS);
    assert.equal(json.limits.record_data, LIMITS.recordData);
    assert.ok(json.reserved_names.includes('public') && json.reserved_names.includes('google'));
    assert.equal(json.content_formats['application/json'], 'json');
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const rest = `.r.${name}.v1`;
    const key = (length: number): string =>
      `${'a.'
        .repeat(length)
        .slice(0, length - rest.length - 1)
        .replace(/\.$/, 'a')}a${rest}`;
    const longest: number = json.limits.record_key;
    assert.equal((await owner.record(key(longest))).key.length, longest);
    const tooLong = await owner.post('/records', { record: { key: key(longest + 1), data: '' } });
    assert.deepEqual(tooLong.json.errors, [`key is longer than ${longest} characters`]);
    assert.deepEqual(json.webhook_events, (await owner.get('/webhooks/events')).json.events);
    await world.close();
  },

  'a namespace is exported as lines that a bulk write takes': async (store: Store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { id, name } = await owner.namespace();
    const other = await owner.namespace();
    await owner.record(`x.r.${other.name}.v1`);
    const count = 300;
    const records = Array.from({ length: count }, (_, i) => ({
      key: `k${i}.r.${name}.v1`,
      data: Buffer.alloc(i, i).toString('base64'),
      content_type: 'text/plain',
      ttl_seconds: i,
      expires_at: i % 2 === 0 ? null : '2030-01-01T00:00:00.000Z',
    }));
    await owner.post('/records/bulk', { records });
    const answer = await owner.get(`/namespaces/${id}/export`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/x-ndjson');
    assert.equal(answer.headers['content-disposition'], `attachment; filename="${name}.jsonl"`);
    const lines = answer.text.split('\n');
    assert.equal(lines.pop(), '');
    const exported = lines.map((line) => JSON.parse(line));
    const byKey = (a: { key: string }, b: { key: string }): number => (a.key < b.key ? -1 : 1);
    assert.deepEqual(exported.toSorted(byKey), records.toSorted(byKey));
    assert.equal((await owner.post('/records/bulk', { records: exported })).status, 200);
    await world.close();
  },

  'an export to a client of HTTP/1.0 ends with its connection, without a trailer': async (store: Store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { id, name } = await owner.namespace();
    await owner.record(`a.b.${name}.v1`);
    const { port } = new URL(await world.app.listen({ host: '127.0.0.1', port: 0 }));
    const talk = (version: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), '127.0.0.1');
        let text = '';
        socket.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        socket.on('error', reject).on('close', () => resolve(text));
        const head = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${owner.token}`;
        socket.write(`GET /api/v1/namespaces/${id}/export HTTP/${version}\r\n${head}\r\n\r\n`);
      });
    const [old, current] = [await talk('1.0'), await talk('1.1')];
    assert.match(old, /^HTTP\/1\.1 200 /);
    assert.doesNotMatch(old, /trailer|x-record-count/i);
    assert.match(old, /\r\n\r\n\{"key":"a\.b\.[^\n]*\}\n$/);
    assert.match(current, /\r\n0\r\nX-Record-Count: 1\r\n\r\n$/);
    await world.close();
  },

  'an export needs the operation read and a namespace within reach': async (store: Store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { id, name } = await owner.namespace();
    const other = await owner.namespace(newName());
    const path = `/namespaces/${id}/export`;
    const statusFor = async (scopes: object): Promise<number> =>
      (await (await owner.key(scopes)).get(path)).status;
    assert.equal(await statusFor({ operations: ['read'] }), 200);
    assert.equal(await statusFor({ operations: ['write'] }), 403);
    assert.equal(await statusFor({ namespaces: [name] }), 200);
    assert.equal(await statusFor({ namespaces: [other.name] }), 403);
    assert.equal((await (await world.customer()).get(path)).status, 404);
    assert.equal((await world.caller(null).get(path)).status, 401);
    assert.equal((await owner.get(`${path}?limit=1`)).status, 400);
    assert.equal((await owner.send('HEAD', path)).text, '');
    assert.equal((await owner.get(`/namespaces/${other.id}/export`)).text, '');
    await world.close();
  },
});
