import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTxtServer, type TxtAnswer } from '../../../test/support/cli/txt-server.ts';
import { runCli } from '../../../test/support/command.ts';
import { UsageError } from '../../base/errors.ts';
import { keyTxt } from '../../protocol/datasets/attestation.ts';
import { checkpointTxt, proofTxt } from '../../protocol/datasets/log-txt.ts';
import { readPolicy } from '../../protocol/transparency/signatures.ts';
import { checkOverDns, readManifestName } from './verify-published.ts';

const FIXTURES = new URL('../../../test/fixtures/attest/', import.meta.url);
const path = (name: string): string => fileURLToPath(new URL(name, FIXTURES));
const ITEMS = path('plain/items.jsonl');
const MANIFEST = readFileSync(path('plain/txt.bin'), 'utf8');
const { public: pub } = JSON.parse(readFileSync(path('key.json'), 'utf8')) as { public: string };
const PUBLISHED = { publicKey: Buffer.from(pub, 'base64'), since: 1, end: null };
const NAME = 'manifest.gtin-demo.datasets.public.v1.uqrp.net';

const LOG = new URL('../../../test/fixtures/transparency/', import.meta.url);
const inLog = (name: string): string => readFileSync(new URL(name, LOG), 'utf8');
const POLICY_FILE = fileURLToPath(new URL('policy.txt', LOG));
const PROOF = inLog('entry-1.tlog-proof');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const LOGGED = { slug: 'gtin-demo', version: '1.2.0' };

interface Answers {
  readonly manifest?: TxtAnswer;
  readonly proof?: TxtAnswer;
  readonly keys?: TxtAnswer;
}

async function withServer<T>(answers: Answers, run: (port: number) => Promise<T>): Promise<T> {
  const { manifest = [MANIFEST], keys = [keyTxt(PUBLISHED)], proof = [] } = answers;
  const server = await startTxtServer((name) => {
    // Asked for by version, whatever the question named.
    if (name.startsWith('manifest.gtin-demo-v-1d2d0.log.datasets.public.v1.')) return proof;
    return name.startsWith('manifest.keys.') ? keys : manifest;
  });
  try {
    return await run(server.port);
  } finally {
    server.close();
  }
}

/** Code of the fault, or null. */
const faultOf = (
  answers: Answers,
  { name = NAME, items = ITEMS, policy = null as string | null } = {},
): Promise<string | null> =>
  withServer(answers, async (port) => {
    const server = { host: '127.0.0.1', port, ca: null };
    const read = policy === null ? null : readPolicy(policy);
    if (read?.ok === false) throw new Error(read.faults[0]);
    const target = { server, transport: 'udp' } as const;
    const result = await checkOverDns(readManifestName(name), items, target, read?.policy ?? null);
    return result.valid ? null : result.code;
  });

describe('query --verify', () => {
  it('takes names of manifests, and asks for the keys of the same zone', () => {
    assert.deepEqual(readManifestName('Manifest.GTIN-demo-v-1d2d0.datasets.public.v1.dns.Example.com'), {
      name: 'Manifest.GTIN-demo-v-1d2d0.datasets.public.v1.dns.Example.com',
      below: 'datasets.public.v1.dns.example.com',
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

  it('tells with a policy what is wrong with the proof', async () => {
    const policy = inLog('policy.txt');
    const fault = (proof: TxtAnswer, by = policy) => faultOf({ proof }, { policy: by });
    const value = (proof: string, of = LOGGED) => [proofTxt(of, base64(proof))];
    assert.equal(await fault(value(PROOF)), null);
    // Nothing asks for a proof without a policy.
    assert.equal(await faultOf({ proof: 2 }), null);
    for (const none of [[], 1] as const) assert.equal(await fault(none), 'not_logged');
    assert.equal(await fault(2), 'servfail');
    assert.equal(await fault(value(PROOF, { ...LOGGED, version: '1.2.1' })), 'proof_wrong');
    assert.equal(await fault([checkpointTxt(base64(inLog('checkpoint.txt')))]), 'proof_wrong');
    assert.equal(await fault(value(PROOF.replace('index 1', 'index 2'))), 'proof_wrong');
    assert.equal(await fault(value(PROOF.replace(/\n— witness[^\n]*/, ''))), 'checkpoint_untrusted');
    assert.equal(await fault(value(PROOF), policy.replace(/^quorum .*$/m, 'quorum none')), null);
    const stranger = policy.replace(/^log .*\n/m, '');
    assert.equal(await fault(value(PROOF), stranger), 'checkpoint_untrusted');
    // The items file is compared before: a proof says nothing of it.
    assert.equal(
      await faultOf({ proof: value(PROOF) }, { policy, items: path('bounds/items.jsonl') }),
      'hash_differs',
    );
  });

  it('prints where the manifest is logged, and who cosigned when', async () => {
    const run = (port: number, ...rest: readonly string[]) =>
      runCli(
        [
          'query',
          NAME,
          '--verify',
          ITEMS,
          '--log',
          POLICY_FILE,
          '--server',
          '127.0.0.1',
          '--port',
          `${port}`,
          ...rest,
        ],
        {},
      );
    const proof = [proofTxt(LOGGED, base64(PROOF))];
    const said = await withServer({ proof }, (port) => run(port));
    assert.equal(said.code, 0, said.errors);
    assert.equal(
      said.out.trimEnd().split('\n')[2],
      'logged: entry 1 of 5 in api.example.net/log, cosigned by w1 at 2026-11-26T00:00:02.000Z',
    );
    const { log } = JSON.parse((await withServer({ proof }, (port) => run(port, '--json'))).out);
    assert.deepEqual(log, {
      origin: 'api.example.net/log',
      index: 1,
      size: 5,
      cosigned: [{ name: 'w1', at: '2026-11-26T00:00:02.000Z' }],
    });
    const missing = await withServer({}, (port) => run(port, '--json'));
    assert.equal(missing.code, 1);
    assert.equal(JSON.parse(missing.out).code, 'not_logged');
    const unread = ['query', NAME, '--verify', ITEMS, '--log'];
    assert.equal((await runCli([...unread, path('none')], {})).code, 1);
    assert.match((await runCli([...unread, ITEMS], {})).errors, /is not a policy/);
    // Each command that takes a policy says the same of it.
    const audit = await runCli(['log', 'audit', '--policy', ITEMS, '--state', path('state')], {});
    assert.equal(audit.code, 1);
    assert.match(audit.errors, /is not a policy/);
    assert.equal((await runCli(['query', NAME, '--log', POLICY_FILE], {})).code, 2);
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
