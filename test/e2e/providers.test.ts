import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ask } from '../../src/process/dns-client.ts';
import { RRTYPE, rcodeName } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { rdataToText } from '../../src/protocol/dns/rdata/present.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { fixture } from '../support/services/providers/rig.ts';
import { eventually } from './client.ts';

const DIRECTORY = fileURLToPath(new URL('../fixtures/providers/nasdaqtraded.txt', import.meta.url));
const KEY = 'hush-hush';

interface Told {
  readonly rcode: string;
  readonly text: string;
  readonly ttl: number | null;
}

describe('provided services of a whole server', () => {
  let upstream: Server;
  let server: Uqrp;
  let env: Record<string, string>;
  const paths: string[] = [];
  const held: ServerResponse[] = [];
  let isStuck = false;

  /** Answers by provider. While stuck, the stand-in does not answer. */
  function reply(path: string, response: ServerResponse): void {
    paths.push(path);
    if (isStuck) held.push(response);
    else if (path.startsWith('/meteo/')) response.end(fixture('openmeteo.json'));
    else if (path.startsWith('/stock/')) response.end(fixture('twelvedata.json'));
    else if (path.startsWith('/coins/')) response.end(fixture('coinbase.json'));
    else response.writeHead(500).end();
  }

  const told = async (
    name: string,
    transport: 'udp' | 'tcp' = 'udp',
    { ports }: Uqrp = server,
  ): Promise<Told> => {
    const message = await ask(nameFromText(`${name}.public.v1.uqrp.net`)!, RRTYPE.TXT, {
      server: { host: '127.0.0.1', port: ports.dns, ca: null },
      transport,
      deadlineMs: 8000,
    });
    const answer = message.answer[0];
    const text = answer === undefined ? '' : Buffer.from(txtValue(answer.rdata)!).toString('latin1');
    return { rcode: rcodeName(message.rcode), text, ttl: answer?.ttl ?? null };
  };

  before(async () => {
    upstream = createServer((request, response) => reply(request.url ?? '', response)).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    env = {
      UQRP_WORKERS: '2',
      UQRP_OPENMETEO_URL: `${origin}/meteo`,
      UQRP_METNO_URL: 'off',
      UQRP_FRANKFURTER_URL: `${origin}/broken`,
      UQRP_ECB_URL: `${origin}/broken`,
      UQRP_COINBASE_URL: `${origin}/coins`,
      UQRP_KRAKEN_URL: 'off',
      UQRP_TWELVEDATA_URL: `${origin}/stock`,
      UQRP_TWELVEDATA_KEY: KEY,
    };
    server = await startUqrp(env);
  });
  after(async () => {
    await server.remove();
    upstream.closeAllConnections();
    upstream.close();
  });

  it('make one call for all workers, all askers and both weather services', async () => {
    const names = ['get.london.weather', 'get.51d5_-0d1.weather', 'get.london.forecast'];
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => told(names[i % 3]!)));
    for (const [i, { rcode, text, ttl }] of answers.entries()) {
      assert.deepEqual([rcode, ttl], ['NOERROR', 600]);
      assert.match(
        text,
        i % 3 === 2 ? /^v=svc1;s=ok;t=data;loc=London, GB;n=3;d0=2026-01-01;/ : /;tc=4\.3;tf=39\.7;ts=/,
      );
    }
    assert.equal(paths.length, 1);
  });

  it('answer SERVFAIL with E009 when a provider is down, and do not tell what it said', async () => {
    const { rcode, text } = await told('get.usd-eur.forex');
    assert.equal(rcode, 'SERVFAIL');
    assert.equal(text, 'v=svc1;s=error;t=error;code=E009;msg=provider unavailable');
  });

  it('say to questions of other types that there is a TXT record, and ask no provider, which may be down or hang', async () => {
    const before = paths.length;
    isStuck = true;
    const askSigned = (name: string, type: keyof typeof RRTYPE) =>
      ask(nameFromText(`${name}.public.v1.uqrp.net`)!, RRTYPE[type], {
        server: { host: '127.0.0.1', port: server.ports.dns, ca: null },
        transport: 'tcp',
        deadlineMs: 8000,
        dnssecOk: true,
      });
    const typesOf = async (name: string, type: keyof typeof RRTYPE): Promise<string> => {
      const { rcode, answer, authority } = await askSigned(name, type);
      assert.equal(rcodeName(rcode), 'NOERROR', `${name} ${type}`);
      const { rdata } = [...answer, ...authority].find((record) => record.type === RRTYPE.NSEC)!;
      return rdataToText(RRTYPE.NSEC, rdata).split(' ').slice(1).join(' ');
    };
    // More new names than the provider of coins has calls for.
    const coins = [
      'ada',
      'sol',
      'xrp',
      'dot',
      'ltc',
      'bch',
      'eth',
      'etc',
      'uni',
      'link',
      'atom',
      'doge',
      'avax',
    ];
    const names = ['get.usd-gbp.forex', 'get.oslo.weather', 'get.rome.forecast', 'get.msft.stock'];
    for (const name of [...names, ...coins.map((coin) => `get.${coin}.crypto`)]) {
      for (const type of ['A', 'AAAA', 'HTTPS', 'NSEC'] as const) {
        assert.equal(await typesOf(name, type), 'TXT RRSIG NSEC', `${name} ${type}`);
      }
      assert.equal((await askSigned(name, 'ANY')).answer[0]!.type, RRTYPE.HINFO, name);
    }
    assert.equal(await typesOf('get.usd-gbp-jpy.forex', 'A'), 'RRSIG NSEC', 'FORMERR as TXT');
    isStuck = false;
    assert.deepEqual(paths.slice(before), []);
  });

  it('take up a map of exchanges while they run', async () => {
    assert.match((await told('get.aapl.stock')).text, /^v=svc1;s=ok;t=data;sym=AAPL;prc=148\.85;/);
    assert.equal((await told('get.aapl-x-xnas.stock')).rcode, 'FORMERR');
    const asof = new Date().toISOString().slice(0, 10);
    const done = server.cli(['stock-map', 'import', DIRECTORY, '--asof', asof, '--tag', 'e2e', '--json']);
    assert.deepEqual(JSON.parse(done), { tickers: 7, asof, tag: 'e2e' });
    const pinned = `sym=AAPL;exchref=XNAS;exchsrc=e2e;exchasof=${asof};prc=148.85`;
    await eventually(async () => (await told('get.aapl-x-xnas.stock')).text.includes(pinned));
    const wrong = await told('get.aapl-x-xnys.stock');
    assert.deepEqual(
      [wrong.rcode, wrong.text],
      ['FORMERR', 'v=svc1;s=error;t=error;code=E005;msg=invalid input'],
    );
    assert.throws(() =>
      server.cli(['stock-map', 'import', DIRECTORY, '--asof', '2020-01-01', '--tag', 'e2e']),
    );
  });

  it('give up waiting, while every other answer comes at once, and have it for the next asker', async () => {
    isStuck = true;
    const late = told('get.btc.crypto');
    await eventually(async () => held.length === 1);
    assert.match((await told('get.london.weather')).text, /tc=4\.3/);
    assert.match((await told('get.1-km-to-m.units')).text, /res=1000/);
    assert.match((await late).text, /code=E011/);
    isStuck = false;
    for (const response of held) response.end(fixture('coinbase.json'));
    await eventually(async () => (await told('get.btc.crypto')).text.includes('prc=63123.45'));
  });

  it('have budget left for others when somebody asks for coordinates without end', async () => {
    const stranger = [];
    for (let lat = 0; lat < 20; lat++) {
      const names = Array.from({ length: 20 }, (_, lon) => `get.${lat}_${lon}.weather`);
      stranger.push(...(await Promise.all(names.map((name) => told(name)))));
    }
    const refused = stranger.filter(({ text }) => text.includes('code=E010;msg=rate limit;retry_after='));
    assert.ok(refused.length > 200, `${refused.length} of 400`);
    assert.ok(refused.every(({ ttl }) => ttl === 0));
    // Over TCP: nobody can forge these.
    for (const city of ['paris', 'rome', 'tokyo', 'berlin', 'madrid', 'oslo', 'lima', 'cairo', 'vienna']) {
      assert.match((await told(`get.${city}.weather`, 'tcp')).text, /tc=4\.3/, city);
    }
  });

  it('know after a restart what they knew, and keep no key', async () => {
    await server.stop();
    server = await startUqrp(env, server.dataDir);
    const before = paths.length;
    assert.match((await told('get.london.weather')).text, /tc=4\.3/);
    assert.equal(paths.length, before);
    assert.ok(paths.some((path) => path.includes(KEY)));

    assert.ok(!readFileSync(`${server.dataDir}/providers.json`, 'utf8').includes(KEY));
  });

  it('are asked once for all nodes, also over a restart of control', {
    skip: natsMissing() ?? false,
  }, async () => {
    const world = await startManyNodes(env);
    try {
      /** A node may be asked before it has reached control. */
      const answersAt = async (name: string): Promise<void> => {
        const node = await world.start(await world.nodeEnv(name));
        await eventually(async () => (await told('get.zurich.weather', 'tcp', node)).text.includes('tc=4.3'));
      };
      const control = await world.start(world.controlEnv);
      const before = paths.length;
      await answersAt('fra1');
      assert.equal(paths.length, before + 1);
      await control.stop();
      await world.start(world.controlEnv, control.dataDir);
      await answersAt('sin1');
      assert.equal(paths.length, before + 1);
    } finally {
      await world.close();
    }
  });
});
