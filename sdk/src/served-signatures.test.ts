import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parseRrtype as typeOf } from '../../src/protocol/dns/codes.ts';
import { type TestServer, testServer } from '../../test/support/sdk/server.ts';
import { tlsFetch } from '../../test/support/sdk/tls-fetch.ts';
import { checkAnswer, checkKeys } from './dns/dnssec/check-answer.ts';
import { readDs } from './dns/dnssec/zone-keys.ts';
import { exchange, exchangeJson } from './dns/doh.ts';
import { nameFromText } from './dns/message/cursor.ts';
import { decodeMessage, encodeQuery } from './dns/message/message.ts';
import { readServiceDocument } from './dns/schema.ts';
import type { Fetch } from './shared/fetch.ts';

describe('signatures of a server', () => {
  let fetch: Fetch;
  let ports: TestServer['ports'];
  let cli: TestServer['cli'];
  before(async () => {
    const server = await testServer();
    ({ ports, cli } = server);
    fetch = tlsFetch(readFileSync(join(server.dataDir, 'tls/cert.pem'), 'utf8'));
  });

  it('answers of every transport over HTTPS are signed, and are not valid after a change', async () => {
    const url = `https://localhost:${ports.doh}`;
    const zone = nameFromText('uqrp.net');
    const keysQuery = encodeQuery('uqrp.net', { type: typeOf('DNSKEY') ?? 0, dnssecOk: true });
    const ds = readDs(cli(['dnssec', 'ds']));
    const options = { ds, isDirect: true, query: decodeMessage(keysQuery) };
    const keys = await checkKeys(
      decodeMessage(await exchange(`${url}/dns-query`, keysQuery, { fetch })),
      zone,
      options,
    );
    assert.deepEqual([keys.result, keys.isAnchored, ds.length], ['valid', true, 1]);
    const name = 'get.5-KM-to-mi.units.public.v1.uqrp.net';
    const query = encodeQuery(name, { dnssecOk: true, checkingDisabled: true });
    for (const method of ['POST', 'GET'] as const) {
      const octets = await exchange(`${url}/dns-query`, query, { fetch, method });
      const check = { query: decodeMessage(query), isDirect: true };
      const good = await checkAnswer(decodeMessage(octets), keys, check);
      assert.deepEqual([good.result, good.faults], ['valid', []]);
      const text = decodeMessage(octets).spans.find(({ field }) => field === 'characters');
      octets[text?.from ?? 0] = 0x56;
      const bad = await checkAnswer(decodeMessage(octets), keys, check);
      assert.equal(bad.result, 'not_valid');
      assert.ok(bad.signatures.every(({ reason }) => reason === 'no_match'));
    }
    const json = JSON.parse(
      await exchangeJson(`${url}/resolve`, { name, type: 'TXT', dnssecOk: true }, { fetch }),
    );
    assert.equal(json.Status, 0);
    const document = await readServiceDocument(`${url}/schema`, 'info.units.public.v1.uqrp.net', { fetch });
    assert.ok(document.dns_format.query_template.endsWith('.units.public.v1.uqrp.net'));
    const secret = `get.auth-${'a'.repeat(20)}.b.acme.v1.uqrp.net`;
    const asUrl = exchange(url, encodeQuery(secret), { fetch: () => assert.fail(), method: 'GET' });
    await assert.rejects(asUrl, { name: 'NameError' });
    await assert.rejects(exchangeJson(url, { name: secret, type: 'TXT' }, { fetch: () => assert.fail() }), {
      name: 'NameError',
    });
  });
});
