import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTxtServer, type TxtAnswer } from '../../../test/support/cli/txt-server.ts';
import { runCli } from '../../../test/support/command.ts';
import { UsageError } from '../../base/errors.ts';
import { keyTxt } from '../../protocol/datasets/attestation.ts';
import { checkOverDns, readManifestName } from './verify-published.ts';

const FIXTURES = new URL('../../../test/fixtures/attest/', import.meta.url);
const path = (name: string): string => fileURLToPath(new URL(name, FIXTURES));
const ITEMS = path('plain/items.jsonl');
const MANIFEST = readFileSync(path('plain/txt.bin'), 'utf8');
const { public: pub } = JSON.parse(readFileSync(path('key.json'), 'utf8')) as { public: string };
const PUBLISHED = { publicKey: Buffer.from(pub, 'base64'), since: 1, end: null };
const NAME = 'manifest.gtin-demo.datasets.public.v1.uqrp.net';

interface Answers {
  readonly manifest?: TxtAnswer;
  readonly keys?: TxtAnswer;
}

async function withServer<T>(answers: Answers, run: (port: number) => Promise<T>): Promise<T> {
  const { manifest = [MANIFEST], keys = [keyTxt(PUBLISHED)] } = answers;
  const server = await startTxtServer((name) => (name.startsWith('manifest.keys.') ? keys : manifest));
  try {
    return await run(server.port);
  } finally {
    server.close();
  }
}

/** Code of the fault, or null. */
const faultOf = (answers: Answers, { name = NAME, items = ITEMS } = {}): Promise<string | null> =>
  withServer(answers, async (port) => {
    const server = { host: '127.0.0.1', port, ca: null };
    const result = await checkOverDns(readManifestName(name), items, { server, transport: 'udp' });
    return result.valid ? null : result.code;
  });

describe('query --verify', () => {
  it('takes names of manifests, and asks for the keys of the same zone', () => {
    assert.deepEqual(readManifestName('Manifest.GTIN-demo-v-1d2d0.datasets.public.v1.dns.Example.com'), {
      name: 'Manifest.GTIN-demo-v-1d2d0.datasets.public.v1.dns.Example.com',
      keysName: 'manifest.keys.datasets.public.v1.dns.example.com',
      slug: 'gtin-demo',
      version: '1.2.0',
    });
    for (const wrong of [
      'get.a.acme.v1.uqrp.net',
      'identity.gtin-demo-k-40170725.datasets.public.v1.uqrp.net',
      'manifest.keys.datasets.public.v1.uqrp.net',
      'manifest.-x.datasets.public.v1.uqrp.net',
      'manifest.x-v-1d2.datasets.public.v1.uqrp.net',
      'manifest.a.b.datasets.public.v1.uqrp.net',
      'manifest.x.datasets.public.v2.uqrp.net',
      'manifest.x.datasets.public.v1',
      'uqrp.net',
    ]) {
      assert.throws(() => readManifestName(wrong), UsageError, wrong);
    }
  });

  it('tells what is wrong with what a server answers over UDP', async () => {
    assert.equal(await faultOf({}), null);
    assert.equal(await faultOf({}, { items: path('bounds/items.jsonl') }), 'hash_differs');
    assert.equal(await faultOf({ manifest: [] }), 'manifest_unknown');
    assert.equal(await faultOf({ manifest: 5 }), 'refused');
    assert.equal(await faultOf({ keys: 2 }), 'servfail');
    assert.equal(await faultOf({ keys: [] }), 'key_unknown');
    assert.equal(await faultOf({ keys: [keyTxt({ ...PUBLISHED, end: 2 })] }), 'key_ended');
    assert.equal(await faultOf({ manifest: ['v=svc1;s=ok'] }), 'manifest_malformed');
    assert.equal(await faultOf({ manifest: [MANIFEST.replace('CC0', 'CC1')] }), 'signature_wrong');
    assert.equal(await faultOf({}, { name: NAME.replace('gtin-demo', 'gtin-x') }), 'other_manifest');
  });

  it('ends with 0, 1 or 2 and the reason', async () => {
    const run = (port: number, items: string, ...rest: readonly string[]) =>
      runCli(['query', NAME, '--verify', items, '--server', '127.0.0.1', '--port', `${port}`, ...rest], {});
    const valid = await withServer({}, (port) => run(port, ITEMS));
    assert.equal(valid.code, 0, valid.errors);
    const [first, second] = valid.out.split('\n');
    assert.match(first!, /items\.jsonl is gtin-demo 1\.2\.0, attested by key [0-9a-f]{16} at .*Z$/);
    assert.equal(second, `the key is ${pub}: compare it with the publisher's`);

    // The items file is not there: it is not read when the attestation is wrong.
    const hostile = MANIFEST.replace('CC0-1.0', 'CC0\u001b]0;x');
    const wrong = await withServer({ manifest: [hostile] }, (port) => run(port, 'none.jsonl', '--json'));
    assert.equal(wrong.code, 1);
    assert.deepEqual(JSON.parse(wrong.out).code, 'manifest_malformed');
    assert.equal((await runCli(['query', 'uqrp.net', '--verify', ITEMS], {})).code, 2);
  });
});
