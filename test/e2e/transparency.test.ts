import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { parseCheckpoint } from '../../src/protocol/transparency/checkpoint.ts';
import { checkLogProof, checkNote, readPolicy } from '../../src/protocol/transparency/signatures.ts';
import { decodeEntries, decodeTile } from '../../src/protocol/transparency/tiles.ts';
import { leafHash } from '../../src/protocol/transparency/tree.ts';
import { DatasetWorld, REGISTRY_ENV } from '../support/cli/dataset-world.ts';
import { runCli } from '../support/command.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { type NewWitness, newWitness } from '../support/transparency-witness.ts';

const ORIGIN = 'api.example.net/log';

describe('the transparency log of a server, with two witnesses', { timeout: 300_000 }, () => {
  let folder: string;
  let witnesses: NewWitness[] = [];
  let env: NodeJS.ProcessEnv;
  let server: Uqrp;
  let world: DatasetWorld;
  let vkey: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-transparency-'));
    witnesses = [await newWitness('one'), await newWitness('two')];
    const policy = join(folder, 'policy');
    writeFileSync(
      policy,
      `${witnesses.map(({ line }) => line).join('\n')}\ngroup both all one two\nquorum both\n`,
    );
    env = { ...REGISTRY_ENV, UQRP_DATASETS_LOG: 'on', UQRP_DATASETS_LOG_POLICY: policy };
    server = await startUqrp(env);
    mkdirSync(join(folder, 'files'));
    world = new DatasetWorld(server.dataDir, join(folder, 'files'), 3);
    vkey = server.cli(['log', 'init', ORIGIN]).trim();
    for (const witness of witnesses) witness.trust(vkey);
  });
  after(async () => {
    await server?.remove();
    for (const witness of witnesses) await witness.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const get = (path: string, headers = {}, from = server): Promise<Response> =>
    fetch(`http://127.0.0.1:${from.ports.http}/log/${path}`, { headers });

  function publish(version: string, on = server): void {
    const { signed, items } = world.publish(version);
    on.cli(['dataset', 'import', signed, '--items', items]);
  }

  /** Waits until the published checkpoint has so many entries. */
  async function publishedAt(size: number, from = server): Promise<string> {
    for (;;) {
      const response = await get('checkpoint', {}, from);
      const text = await response.text();
      if (response.status === 200 && parseCheckpoint(text)!.size >= size) return text;
      await sleep(100);
    }
  }

  it('shows what a policy trusts: checkpoint, tiles, bundles and a proof of each version', async () => {
    const early = await get('checkpoint');
    assert.equal(early.status, 404);
    assert.equal(early.headers.get('cache-control'), 'no-store');
    publish('1.0.0');
    const note = await publishedAt(2);
    const read = readPolicy(server.cli(['log', 'policy']));
    assert.ok(read.ok);
    const judged = checkNote(note, read.policy);
    assert.ok(judged.valid, JSON.stringify(judged));
    assert.equal(judged.cosigners.length, 2);

    const head = await get('checkpoint');
    assert.equal(head.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.match(head.headers.get('cache-control')!, /max-age=5$/);
    assert.equal(head.headers.get('access-control-allow-origin'), '*');

    const bundle = await get('tile/entries/000.p/2', { 'accept-encoding': 'identity' });
    assert.match(bundle.headers.get('cache-control')!, /max-age=31536000, immutable/);
    assert.equal(bundle.headers.get('content-type'), 'application/octet-stream');
    assert.equal(bundle.headers.get('content-encoding'), null);
    const octets = Buffer.from(await bundle.arrayBuffer());
    const leaves = decodeEntries(octets, 2)!;
    const zipped = await get('tile/entries/000.p/2', { 'accept-encoding': 'gzip' });
    assert.equal(zipped.headers.get('content-encoding'), 'gzip');
    assert.equal(typeof gunzipSync, 'function');
    assert.deepEqual(Buffer.from(await zipped.arrayBuffer()), octets, 'fetch has unpacked it');
    const tile = decodeTile(Buffer.from(await (await get('tile/0/000.p/2')).arrayBuffer()), 2)!;
    assert.deepEqual(
      tile.map((hash) => Buffer.from(hash)),
      leaves.map((leaf) => Buffer.from(leafHash(leaf))),
    );

    const proof = await get('proofs/serial/1.0.0');
    assert.match(proof.headers.get('cache-control')!, /immutable/);
    const proved = checkLogProof(leaves[1]!, await proof.text(), read.policy);
    assert.ok(proved.valid, JSON.stringify(proved));
    for (const path of [
      'tile/entries/000.p/3',
      'tile/0/001',
      'tile/0/0',
      'tile/x',
      'proofs/serial/9.0.0',
      'proofs/A/b',
    ]) {
      const missing = await get(path);
      assert.deepEqual([path, missing.status, missing.headers.get('cache-control')], [path, 404, 'no-store']);
    }
  });

  it('says how it and its witnesses are', async () => {
    const status = JSON.parse(server.cli(['log', 'status', '--json']));
    assert.deepEqual(
      [status.origin, status.entries, status.signed, status.published, status.behind],
      [ORIGIN, 2, 2, 2, false],
    );
    assert.match(server.cli(['log', 'status']), /^witness two http:\/\/127\.0\.0\.1:\d+ cosigned, size 2$/m);
  });

  it('refuses a second log, and an origin that is none', async () => {
    const settings = { ...env, UQRP_DATA_DIR: server.dataDir };
    const again = await runCli(['log', 'init', ORIGIN], settings);
    assert.deepEqual([again.code, again.errors], [1, `there is a transparency log already: ${ORIGIN}\n`]);
    const origin = await runCli(['log', 'init', 'https://api.example.net/log'], settings);
    assert.equal(origin.code, 2);
  });

  it('signs nothing after a restore, and goes on with the same witnesses after recover', async () => {
    const backup = join(folder, 'backup');
    server.cli(['backup', backup]);
    publish('1.1.0');
    const lost = await publishedAt(3);
    const monitor = join(folder, 'monitor');
    mkdirSync(join(monitor, 'tile/entries/000.p'), { recursive: true });
    writeFileSync(join(monitor, 'checkpoint'), lost);
    const bundle = await get('tile/entries/000.p/3', { 'accept-encoding': 'identity' });
    writeFileSync(join(monitor, 'tile/entries/000.p/3'), Buffer.from(await bundle.arrayBuffer()));
    await server.stop();

    const dataDir = join(folder, 'restored');
    const settings = { ...env, UQRP_DATA_DIR: dataDir };
    assert.equal((await runCli(['restore', backup], settings)).code, 0);
    const restored = await startUqrp(env, dataDir, ['--accept-new-store']);
    try {
      publish('2.0.0', restored);
      const behind = await runCli(['log', 'status', '--json'], settings);
      assert.equal(behind.code, 1);
      await sleep(3000);
      const status = JSON.parse((await runCli(['log', 'status', '--json'], settings)).out);
      assert.deepEqual([status.entries, status.signed, status.published, status.behind], [3, 2, 2, true]);

      const recovered = await runCli(['log', 'recover', monitor], settings);
      assert.equal(recovered.code, 0, recovered.errors);
      assert.match(
        recovered.out,
        /^recovered 1 entries; the log has signed 3\nmissing: serial@1\.1\.0\. Import/,
      );
      const missing = JSON.parse((await runCli(['log', 'status', '--json'], settings)).out);
      assert.deepEqual(missing.missing, ['serial@1.1.0']);
      const note = await publishedAt(4, restored);
      assert.equal(parseCheckpoint(note)!.size, 4);
      const files = join(folder, 'files');
      const again = [
        'dataset',
        'import',
        join(files, '1.1.0-signed.json'),
        '--items',
        join(files, '1.1.0-items.jsonl'),
      ];
      assert.equal((await runCli(again, settings)).code, 0);
      const after = JSON.parse((await runCli(['log', 'status', '--json'], settings)).out);
      assert.deepEqual([after.entries, after.published, after.behind, after.missing], [4, 4, false, []]);
    } finally {
      await restored.remove();
    }
  });
});
