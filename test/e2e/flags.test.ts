import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
import { type Client, OpenFeature, type Provider } from '@openfeature/server-sdk';
import {
  ProviderEvents,
  type Client as WebClient,
  OpenFeature as WebOpenFeature,
  type Provider as WebProvider,
} from '@openfeature/web-sdk';
import { EventSource } from 'eventsource';
import { Reader } from '../../sdk/src/dns.ts';
import { UqrpProvider } from '../../sdk/src/openfeature.ts';
import { freePort } from '../support/free-port.ts';
import { relayTo } from '../support/relay.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually } from './client.ts';

const ON = { version: 1, variants: { on: true, off: false }, defaultVariant: 'on' };
const OFF = { ...ON, defaultVariant: 'off' };
/** In a context, and in no log, metric or file. */
const MARKER = 'okapimarker';

interface Shop {
  readonly customer: Account;
  readonly id: string;
  readonly token: string;
  readonly tokenId: string;
  put(flag: string, document: unknown): Promise<void>;
}

async function openShop(customer: Account, name: string): Promise<Shop> {
  const made = (await customer.call('POST', '/namespaces', { namespace: { name } })).body as { id: string };
  const minted = await customer.call('POST', `/namespaces/${made.id}/query_tokens`, { name: 'web' });
  const { token, id: tokenId } = minted.body as { token: string; id: string };
  const put: Shop['put'] = async (flag, document) => {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    const record = { key: `${flag}.flags.${name}.v1`, data: Buffer.from(text).toString('base64') };
    const { status, body } = await customer.call('POST', '/records/bulk', { records: [record] });
    assert.equal(status, 200, JSON.stringify(body));
  };
  return { customer, id: made.id, token, tokenId, put };
}

function hostOf({ ports }: Pick<Uqrp, 'ports'>): string {
  return `http://127.0.0.1:${ports.http}`;
}

function ask(host: string, token: string, path: string, body: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${host}/ofrep/v1/evaluate/flags${path}`, { method: 'POST', headers, body: text });
}

let domains = 0;

async function clientOf(provider: Provider): Promise<Client> {
  const domain = `flags-${domains++}`;
  await OpenFeature.setProviderAndWait(domain, provider);
  return OpenFeature.getClient(domain);
}

async function webClient(baseUrl: string, token: string): Promise<WebClient> {
  const domain = `flags-${domains++}`;
  const headers: [string, string][] = [['Authorization', `Bearer ${token}`]];
  const provider = new OFREPWebProvider({ baseUrl, headers, cacheMode: 'disabled' });
  await WebOpenFeature.setProviderAndWait(domain, provider as unknown as WebProvider);
  return WebOpenFeature.getClient(domain);
}

describe('providers of the OpenFeature Remote Evaluation Protocol', () => {
  let server: Uqrp;
  let shop: Shop;
  let port: number;
  let printed = '';
  const files: string[] = [];
  const keepPrinted = ({ child }: Uqrp): void => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
      });
    }
  };

  before(async () => {
    Object.assign(globalThis, { EventSource });
    port = await freePort();
    server = await startUqrp({ UQRP_HTTP_PORT: String(port) });
    keepPrinted(server);
    shop = await openShop(account(server), 'shop');
    await shop.put('b', ON);
    await shop.put('t', { ...ON, variants: { on: 'x' } });
    await shop.put('n', { ...ON, variants: { on: 1.5 } });
    await shop.put('o', { ...ON, variants: { on: { a: [1] } } });
    await shop.put('l', { ...ON, variants: { on: [1, 2] } });
    await shop.put('gone', { ...ON, enabled: false });
    await shop.put('broken', { version: 2 });
    await shop.put('part', { ...OFF, salt: 'dark-mode', rollout: { on: 63.825 } });
    await shop.put('less', { ...OFF, salt: 'dark-mode', rollout: { on: 63.824 } });
  });
  after(async () => {
    await Promise.all([OpenFeature.close(), WebOpenFeature.close()]);
    await server.remove();
  });

  it('the one for servers: each type, disabled, missing, broken, the vectors of rollouts', async () => {
    const headers: [string, string][] = [['Authorization', `Bearer ${shop.token}`]];
    const client = await clientOf(new OFREPProvider({ baseUrl: hostOf(server), headers }));
    assert.equal(await client.getBooleanValue('b', false), true);
    assert.equal(await client.getStringValue('t', ''), 'x');
    assert.equal(await client.getNumberValue('n', 0), 1.5);
    assert.deepEqual(await client.getObjectValue('o', {}), { a: [1] });
    assert.deepEqual(await client.getObjectValue('l', []), [1, 2]);
    const details = async (flag: string, context = {}) => {
      const { value, variant, reason, errorCode } = await client.getBooleanDetails(flag, true, context);
      return { value, variant, reason, errorCode };
    };
    const ok = { value: true, variant: 'on', reason: 'STATIC', errorCode: undefined };
    assert.deepEqual(await details('b'), ok);
    const failed = (errorCode: string) => ({ value: true, variant: undefined, reason: 'ERROR', errorCode });
    assert.deepEqual(await details('nothing'), failed('FLAG_NOT_FOUND'));
    assert.deepEqual(await details('broken'), failed('PARSE_ERROR'));
    assert.deepEqual(await details('part'), failed('TARGETING_KEY_MISSING'));
    // This provider takes an answer without a value for a failure, and still gives the default.
    assert.equal((await details('gone')).value, true);
    const user = { targetingKey: 'user-1' };
    assert.deepEqual(await details('part', user), { ...ok, reason: 'SPLIT' });
    assert.deepEqual(await details('less', user), { ...ok, value: false, variant: 'off', reason: 'SPLIT' });
  });

  it('the one for pages: the same, and a new value when the flag changes, also after a restart', async () => {
    const client = await webClient(hostOf(server), shop.token);
    assert.equal(client.getBooleanValue('b', false), true);
    assert.equal(client.getStringValue('t', ''), 'x');
    assert.equal(client.getNumberValue('n', 0), 1.5);
    assert.deepEqual(client.getObjectValue('o', {}), { a: [1] });
    assert.deepEqual(client.getObjectValue('l', []), [1, 2]);
    assert.equal(client.getBooleanDetails('gone', true).reason, 'DISABLED');
    assert.equal(client.getBooleanDetails('nothing', true).errorCode, 'FLAG_NOT_FOUND');
    assert.equal(client.getBooleanDetails('broken', true).errorCode, 'PARSE_ERROR');
    assert.equal(client.getBooleanDetails('part', true).errorCode, 'TARGETING_KEY_MISSING');
    await WebOpenFeature.setContext(client.metadata.domain!, { targetingKey: 'user-1' });
    assert.deepEqual(
      [client.getBooleanValue('part', false), client.getBooleanValue('less', true)],
      [true, false],
    );

    const changed = (): Promise<unknown> =>
      new Promise((resolve) => {
        client.addHandler(ProviderEvents.ConfigurationChanged, resolve, {
          signal: AbortSignal.timeout(60_000),
        });
      });
    let told = changed();
    // The stream begins while the first values are used already: a write before it is told too.
    await shop.put('b', OFF);
    await told;
    assert.equal(client.getBooleanValue('b', true), false);
    const { dataDir } = server;
    await server.stop();
    told = changed();
    server = await startUqrp({ UQRP_HTTP_PORT: String(port) }, dataDir);
    keepPrinted(server);
    await shop.put('b', ON);
    await told;
    await eventually(async () => client.getBooleanValue('b', false), 60_000);
  });

  it('OFREP and the provider over DNS agree for 1,000 users', async () => {
    const half = { on: 30.5, off: 20 };
    await shop.put('users', {
      ...OFF,
      targeting: [
        { when: [{ attribute: 'country', op: 'in', value: ['de', 'at'] }], rollout: half },
        { when: [{ attribute: 'version', op: 'semver>=', value: '2.0.0' }], variant: 'on' },
      ],
      rollout: { on: 60 },
    });
    const reader = new Reader({ servers: [`127.0.0.1:${server.ports.dns}`], token: shop.token });
    await eventually(() => reader.text('users.flags.shop.v1').then(Boolean, () => false));
    const client = await clientOf(new UqrpProvider({ reader, namespace: 'shop', preload: ['users'] }));
    const seen = new Set<string>();
    for (let i = 0; i < 1_000; i++) {
      const country = ['de', 'fr', 'at', 'ch'][i % 4]!;
      const context = { targetingKey: `grüße-${i}`, country, version: `${i % 3}.${i}.0` };
      const remote = (await (await ask(hostOf(server), shop.token, '/users', { context })).json()) as {
        value: boolean;
        variant: string;
        reason: string;
      };
      const local = await client.getBooleanDetails('users', true, context);
      assert.deepEqual(
        [remote.value, remote.variant, remote.reason],
        [local.value, local.variant, local.reason],
      );
      seen.add(`${remote.reason} ${remote.variant}`);
    }
    assert.deepEqual([...seen].sort(), ['SPLIT off', 'SPLIT on', 'TARGETING_MATCH on']);
  });

  it('a foreign and a revoked token are refused alike', async () => {
    const other = await openShop(shop.customer, 'other');
    const minted = await shop.customer.call('POST', `/namespaces/${shop.id}/query_tokens`, { name: 'old' });
    const { token, id } = minted.body as { token: string; id: string };
    const at = `${hostOf(server)}/flags/shop`;
    assert.equal((await ask(at, token, '/b', {})).status, 200);
    await shop.customer.call('DELETE', `/namespaces/${shop.id}/query_tokens/${id}`);
    const answers = await Promise.all(
      [other.token, token, 'x'].map(async (credential) => {
        const response = await ask(at, credential, '/b', {});
        const headers = [...response.headers].filter(([name]) => !/^(date|x-request-id)$/.test(name));
        return { status: response.status, text: await response.text(), headers };
      }),
    );
    assert.deepEqual([answers[0]!.status, answers[0]!.text], [401, '{}']);
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
  });

  it('a context is in no log, metric or file', async () => {
    const host = hostOf(server);
    const bodies: unknown[] = [
      { context: { targetingKey: MARKER, [MARKER]: MARKER } },
      { context: MARKER },
      { context: { a: MARKER.repeat(200) } },
      `{"context": {"${MARKER}"`,
      { context: { a: { b: { c: { d: { e: { f: MARKER } } } } } } },
    ];
    for (const body of bodies) {
      for (const path of ['', '/part', `/${MARKER}`]) {
        const text = await (await ask(host, shop.token, path, body)).text();
        assert.equal(text.replaceAll(`"key":"${MARKER}"`, '').includes(MARKER), false, text);
      }
    }
    const metrics = await (await fetch(`${host}/metrics`)).text();
    assert.match(metrics, /route="\/ofrep\/v1\/evaluate\/flags\/:key"/);
    // Private reads are counted every five seconds, and when the server ends.
    await server.stop();
    const visit = (path: string): void => {
      if (statSync(path).isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
      else files.push(path);
    };
    visit(server.dataDir);
    assert.ok(files.some((file) => file.endsWith('uqrp.sqlite')));
    const texts = [metrics, printed, ...files.map((file) => readFileSync(file, 'latin1'))];
    for (const text of texts) assert.equal(text.includes(MARKER), false);
  });
});

describe('flags while the database is away', { skip: postgresMissing() ?? false }, () => {
  it('known tokens and namespaces go on, and a change is seen when it is back', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    const secret = { UQRP_SECRET: 'a secret of more than 32 characters', UQRP_ROLE: 'control' };
    const server = await startUqrp({ ...secret, UQRP_DATABASE_URL: relay.url });
    try {
      // `cli` blocks this process and its relay, so commands connect to the database directly.
      const direct = await startUqrp({ ...secret, UQRP_DATABASE_URL: database.url });
      const customer = account(direct);
      await direct.remove();
      const shop = await openShop(customer.at(`${hostOf(server)}/api/v1`), 'shop');
      await shop.put('b', ON);
      const value = async (token = shop.token): Promise<unknown> => {
        const response = await ask(hostOf(server), token, '/b', {});
        return response.status === 200
          ? ((await response.json()) as { value: unknown }).value
          : response.status;
      };
      assert.equal(await value(), true);
      // First no statement is answered, then no connection is taken.
      relay.hang();
      for (let i = 0; i < 5; i++) assert.equal(await value(), true);
      await relay.cut();
      await eventually(async () => (await fetch(`${hostOf(server)}/readyz`)).status === 503);
      for (let i = 0; i < 5; i++) assert.equal(await value(), true);
      assert.equal(await value(`svcq${'0'.repeat(52)}`), 500);
      await relay.restore();
      await eventually(async () => (await fetch(`${hostOf(server)}/readyz`)).status === 200);
      await eventually(async () => {
        await shop.put('b', OFF).catch(() => undefined);
        return (await value()) === false;
      });
      assert.equal(await value(`svcq${'0'.repeat(52)}`), 401);
    } finally {
      await server.remove();
      await relay.cut();
      await database.drop();
    }
  });
});
