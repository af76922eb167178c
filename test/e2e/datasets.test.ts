import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ask, type ClientTransport } from '../../src/process/dns-client.ts';
import { RRTYPE, rcodeName } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { certificate, eventually, getHttps } from './client.ts';

const ITEM = '4006381333931';
const IDENTITY = `identity.gtin-demo-k-${ITEM}.datasets.public.v1`;
const MANIFEST = 'manifest.gtin-demo.datasets.public.v1';
const KEYS = 'manifest.keys.datasets.public.v1';
const TRANSPORTS: readonly ClientTransport[] = ['udp', 'tcp', 'dot', 'doh'];
const ON = { UQRP_WORKERS: '2', UQRP_DATASETS: 'on', UQRP_DATASETS_ASOF: 'on' };

describe('the dataset registry of a whole server', () => {
  let server: Uqrp;

  before(async () => {
    server = await startUqrp(ON);
  });
  after(() => server.remove());

  /** Response code, and the TXT values. */
  async function told(name: string, transport: ClientTransport = 'udp'): Promise<string> {
    const isTls = transport === 'dot' || transport === 'doh';
    const { dns, dot, doh } = server.ports;
    const reply = await ask(nameFromText(`${name}.uqrp.net`)!, RRTYPE.TXT, {
      server: {
        host: isTls ? 'localhost' : '127.0.0.1',
        port: { udp: dns, tcp: dns, dot, doh }[transport],
        ca: certificate(server),
      },
      transport,
      deadlineMs: 5000,
    });
    const texts = reply.answer.map(({ rdata }) => Buffer.from(txtValue(rdata)!).toString());
    return [rcodeName(reply.rcode), ...texts].join(' ');
  }

  /** Attests and imports a version beside the running server. */
  function publish(version: string, brand: string): void {
    const path = (name: string): string => join(server.dataDir, `${version}-${name}`);
    const manifest = {
      slug: 'gtin-demo',
      version,
      license: 'CC0-1.0',
      provenance: 'tests',
      url: 'https://example.net/',
    };
    const window = (from: string | null, to: string | null, text: string) =>
      JSON.stringify({ k: ITEM, from, to, issuer: '', brand: text, cc: 'DE', type: '' });
    writeFileSync(path('manifest.json'), JSON.stringify(manifest));
    writeFileSync(
      path('items.jsonl'),
      `${window(null, '2020-02-29', 'Old')}\n${window('2020-02-29', null, brand)}\n`,
    );
    const signed = server.cli(['dataset', 'attest', path('manifest.json'), '--items', path('items.jsonl')]);
    writeFileSync(path('signed.json'), signed);
    server.cli(['dataset', 'import', path('signed.json'), '--items', path('items.jsonl')]);
  }

  async function until(name: string, wanted: RegExp): Promise<void> {
    await eventually(async () => wanted.test(await told(name)), 20_000);
  }

  it('answers from the version that was imported last by number, while it serves', async () => {
    assert.equal(await told(IDENTITY), 'NOERROR');
    server.cli(['dataset', 'keygen']);
    publish('1.2.0', 'First');
    await until(IDENTITY, /brand=First/);
    for (const transport of TRANSPORTS) {
      const identity = `NOERROR v=svc-id.v1;ds=gtin-demo;k=${ITEM};issuer=;brand=First;cc=DE;type=`;
      assert.equal(await told(IDENTITY, transport), identity, transport);
      assert.match(
        await told(MANIFEST, transport),
        /^NOERROR v=svc-attest.v1;ds=gtin-demo;ver=1\.2\.0;/,
        transport,
      );
      assert.match(
        await told(IDENTITY.replace(ITEM, `${ITEM}-t-2020-02-28`), transport),
        /brand=Old/,
        transport,
      );
      assert.match(
        await told(IDENTITY.replace(ITEM, `${ITEM}-t-2020-02-29`), transport),
        /brand=First/,
        transport,
      );
      assert.equal(await told(IDENTITY.replace(ITEM, '1'), transport), 'FORMERR', transport);
    }
    const json = await getHttps(server, `/resolve?name=${IDENTITY}.uqrp.net&type=TXT`);
    assert.match(JSON.parse(json.body).Answer[0].data, /brand=First/);
    publish('1.10.0', 'Second');
    await until(IDENTITY, /brand=Second/);
    assert.match(await told(MANIFEST.replace('demo', 'demo-v-1d2d0')), /;ver=1\.2\.0;/);
  });

  it('publishes the key of a served manifest and the newest one', async () => {
    const [, first] = /kid=([0-9a-f]{16})/.exec(await told(KEYS)) ?? [];
    assert.ok(first);
    const made = JSON.parse(server.cli(['dataset', 'keygen', '--json'])) as { kid: string };
    publish('2.0.0', 'Third');
    await until(IDENTITY, /brand=Third/);
    assert.match(await told(MANIFEST), new RegExp(`attkid=${made.kid}`));
    const keys = await told(KEYS);
    for (const kid of [first, made.kid]) assert.match(keys, new RegExp(`kid=${kid};`));
  });

  it('answers from the version before when the latest one is retired, and after a restart', async () => {
    server.cli(['dataset', 'retire', 'gtin-demo@2.0.0']);
    await until(IDENTITY, /brand=Second/);
    assert.equal(await told(MANIFEST.replace('demo', 'demo-v-2d0d0')), 'NOERROR');
    await server.stop();
    server = await startUqrp(ON, server.dataDir);
    await until(IDENTITY, /brand=Second/);
  });

  it('refuses everything while its gate is off, and loses nothing', async () => {
    await server.stop();
    server = await startUqrp({ UQRP_WORKERS: '1' }, server.dataDir);
    for (const name of [IDENTITY, MANIFEST, KEYS]) assert.equal(await told(name), 'REFUSED');
    await server.stop();
    server = await startUqrp({ ...ON, UQRP_DATASETS_ASOF: 'off' }, server.dataDir);
    await until(IDENTITY, /brand=Second/);
    assert.equal(await told(IDENTITY.replace(ITEM, `${ITEM}-t-0`)), 'FORMERR');
  });
});
