import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { attest, rawPublicKey } from '../../src/protocol/datasets/attestation.ts';
import { manifestTxt } from '../../src/protocol/datasets/manifest.ts';
import { checkLogProof, readPolicy } from '../../src/protocol/transparency/signatures.ts';
import { WatchedOperator } from '../support/cli/watched-operator.ts';
import { type Ended, runCli } from '../support/command.ts';
import { keyOf } from '../support/protocol/transparency/small-log.ts';

const ITEMS = '{"k":"5","from":"2026-01-01","cc":"DE"}\n';
const KEY = Buffer.from(rawPublicKey(keyOf('key'))).toString('base64');

describe('log checkpoint, log prove, dataset verify --log', () => {
  let folder: string;
  let operator: WatchedOperator;
  let server: Awaited<ReturnType<WatchedOperator['start']>>;
  let policy: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-prove-'));
    operator = new WatchedOperator();
    operator.addKey('key');
    // The manifest in question is in the second bundle of two, and its proof needs tiles of two levels.
    operator.log.append(...Array.from({ length: 260 }, (_, at) => `entry ${at}`));
    operator.publish(operator.manifest('sample', '1.0.0', 'key', ITEMS));
    operator.log.append(...Array.from({ length: 300 }, (_, at) => `later ${at}`));
    server = await operator.start();
    policy = file('policy.txt', operator.policy(server.url));
  });
  afterEach(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function file(name: string, content: string): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  const log = (...words: readonly string[]): Promise<Ended> =>
    runCli(['log', ...words, '--policy', policy], {});

  it('prints the checkpoint that the policy trusts, and no other one', async () => {
    const { code, out, errors } = await log('checkpoint');
    assert.deepEqual([code, out], [0, operator.note()]);
    assert.match(errors, /^size 562, cosigned by \S+ at 20\S+Z, \S+ at 20\S+Z\n$/);
    const shown = JSON.parse((await log('checkpoint', '--json')).out) as { size: number; note: string };
    assert.deepEqual([shown.size, shown.note], [562, operator.note()]);
    operator.cosigners = [];
    const alone = await log('checkpoint');
    assert.deepEqual([alone.code, alone.out], [1, '']);
    assert.match(alone.errors, /is not trusted: cosigned by nobody/);
  });

  it('proves a manifest from tiles, and dataset verify takes the proof', async () => {
    const { code, out, errors } = await log('prove', 'sample@1.0.0');
    assert.deepEqual([code, errors], [0, '']);
    const read = readPolicy(operator.policy(server.url));
    const leaf = Buffer.from(manifestTxt(operator.served[0]!));
    assert.ok(read.ok && checkLogProof(leaf, out, read.policy).valid);

    const items = file('items.jsonl', ITEMS);
    const manifest = attest(
      operator.served[0]!,
      operator.served[0]!.sha256,
      keyOf('key'),
      operator.served[0]!.atts,
    );
    const signed = file('signed.json', JSON.stringify(manifest));
    const proof = file('proof', out);
    const verify = (...more: readonly string[]): Promise<Ended> =>
      runCli(['dataset', 'verify', signed, '--items', items, '--key', KEY, ...more], {});
    const valid = await verify('--log', policy, '--proof', proof);
    assert.equal(valid.code, 0, valid.out + valid.errors);
    assert.match(
      valid.out,
      /^valid: sample 1\.0\.0.*\nlogged: entry 261 of 562 in api\.example\.net\/log, cosigned by /,
    );
    const facts = JSON.parse((await verify('--json', '--log', policy, '--proof', proof)).out);
    assert.deepEqual([facts.valid, facts.log.index, facts.log.size], [true, 261, 562]);
    assert.equal((await verify()).out.includes('logged'), false);

    const faults: readonly (readonly [code: string, proof: string])[] = [
      ['proof_wrong', out.replace('index 261', 'index 260')],
      ['proof_wrong', 'no proof'],
      ['checkpoint_untrusted', out.replace('\n562\n', '\n563\n')],
    ];
    for (const [fault, text] of faults) {
      const wrong = await verify('--json', '--log', policy, '--proof', file('wrong', text));
      assert.deepEqual([wrong.code, JSON.parse(wrong.out).code], [1, fault]);
    }
    assert.equal((await verify('--log', policy)).code, 2);
    assert.equal((await verify('--proof', proof)).code, 2);
  });

  it('reads full tiles where partial ones are gone', async () => {
    const { out } = await log('prove', 'sample@1.0.0');
    const note = operator.note();
    operator.note = () => note;
    operator.log.append(...Array.from({ length: 300 }, (_, at) => `much later ${at}`));
    const http = operator.http.bind(operator);
    operator.http = (path) => (/tile\/(?:entries|0)\/.*\.p\//.test(path) ? null : http(path));
    assert.equal((await log('prove', 'sample@1.0.0')).out, out);
  });

  it('refuses tiles that are not those of the checkpoint, and a manifest that is not there', async () => {
    for (const [target, code, text] of [
      ['sample@9.0.0', 1, /sample 9\.0\.0 is not among the 562 entries/],
      ['sample', 2, /SLUG@VERSION/],
    ] as const) {
      const { code: ended, errors } = await log('prove', target);
      assert.equal(ended, code);
      assert.match(errors, text);
    }
    const note = operator.note();
    operator.log.leaves[5] = Buffer.from('another past');
    operator.note = () => note;
    const { code, out, errors } = await log('prove', 'sample@1.0.0');
    assert.deepEqual([code, out], [1, '']);
    assert.match(errors, /are not those of its checkpoint/);
  });
});
