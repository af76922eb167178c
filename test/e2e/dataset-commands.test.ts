import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCli } from '../support/command.ts';

const PLAIN = fileURLToPath(new URL('../fixtures/attest/plain/', import.meta.url));
const MANIFEST = join(PLAIN, 'manifest.json');
const ITEMS = join(PLAIN, 'items.jsonl');
const KEY = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=';

describe('dataset commands', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-dataset-'));
    mkdirSync(join(folder, 'data'));
    env = { UQRP_DATA_DIR: join(folder, 'data') };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: readonly string[]) => runCli(['dataset', ...args], env);

  it('make a key, attest by the newest one, and verify by its public part alone', async () => {
    const none = await run('attest', MANIFEST, '--items', ITEMS);
    assert.equal(none.code, 1);
    assert.match(none.errors, /has no attestation key: run uqrp dataset keygen\n$/);

    assert.match((await run('keygen')).out, /^[0-9a-f]{16} [A-Za-z0-9+/]{43}=\n$/);
    const made = JSON.parse((await run('keygen', '--json')).out);
    assert.deepEqual(Object.keys(made), ['kid', 'public_key', 'created_at']);

    const attested = await run('attest', MANIFEST, '--items', ITEMS);
    assert.equal(attested.code, 0);
    assert.equal(attested.errors, '', 'no progress where nobody looks');
    const signed = join(folder, 'signed.json');
    writeFileSync(signed, attested.out);
    assert.equal(JSON.parse(attested.out).attkid, made.kid);

    const elsewhere = { UQRP_DATA_DIR: join(folder, 'none') };
    const line = ['dataset', 'verify', signed, '--items', ITEMS, '--key', made.public_key];
    const verified = await runCli(line, elsewhere);
    assert.equal(verified.code, 0);
    assert.match(
      verified.out,
      /^valid: gtin-demo 1\.2\.0, attested by key [0-9a-f]{16} at .*Z, 2 items, 3 windows\n$/,
    );
    const facts = JSON.parse((await runCli([...line, '--json'], elsewhere)).out);
    assert.deepEqual([facts.valid, facts.slug, facts.attkid], [true, 'gtin-demo', made.kid]);
  });

  it('end with 1 and the reason when an attestation is not valid', async () => {
    const line = ['verify', join(PLAIN, 'signed.json'), '--items', MANIFEST, '--key', KEY];
    const [wrong, asJson] = await Promise.all([run(...line), run(...line, '--json')]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.out, /^not valid: .*manifest\.json is not the items file of the manifest/);
    assert.equal(asJson.code, 1);
    assert.equal(JSON.parse(asJson.out).valid, false);
  });

  it('name file, line and reason of a fault, and print no manifest', async () => {
    const items = join(folder, 'bad.jsonl');
    writeFileSync(items, '{"k": "40170725", "from": 0, "cc": "DE"}\n{"k": "1", "from": 0, "cc": "DE"}\n');
    const { code, out, errors } = await run('attest', MANIFEST, '--items', items);
    assert.deepEqual([code, out], [1, '']);
    assert.equal(errors, `${items}:2: k must be 8, 12, 13 or 14 digits\n`);
    const missing = await run('attest', MANIFEST, '--items', join(folder, 'none.jsonl'));
    assert.equal(missing.code, 1);
    assert.match(missing.errors, /none\.jsonl/);
    assert.doesNotMatch(missing.errors, /\n {4}at /);
  });

  it('import, list, export and retire', async () => {
    assert.equal((await runCli(['user', 'create', 'a@example.net'], env)).code, 0);
    const { kid } = JSON.parse((await run('keygen', '--json')).out);
    const signed = join(folder, 'imported.json');
    writeFileSync(signed, (await run('attest', MANIFEST, '--items', ITEMS)).out);
    const imports = ['import', signed, '--items', ITEMS] as const;
    const first = await run(...imports);
    assert.deepEqual([first.code, first.out, first.errors], [0, 'gtin-demo 1.2.0 imported, 2 items\n', '']);
    const again = await run(...imports);
    assert.deepEqual([again.code, again.out], [0, 'gtin-demo 1.2.0 was already imported\n']);
    const [{ slug, version, state, latest, windows, attkid }] = JSON.parse((await run('list', '--json')).out);
    assert.deepEqual(
      { slug, version, state, latest, windows, attkid },
      { slug: 'gtin-demo', version: '1.2.0', state: 'served', latest: true, windows: 3, attkid: kid },
    );
    assert.equal((await run('export', 'gtin-demo')).out, readFileSync(ITEMS, 'utf8'));
    const foreign = await run('import', join(PLAIN, 'signed.json'), '--items', ITEMS);
    assert.equal(foreign.code, 1);
    assert.match(foreign.errors, /which is not known here\. Give the publisher's public key with --key\.\n$/);
    const retired = await run('retire', 'gtin-demo');
    assert.deepEqual([retired.code, retired.out], [0, 'gtin-demo 1.2.0 retired\n']);
    assert.match((await run('list')).out, /^SLUG .*PUBLISHED\n$/);
  });

  it('end with 2 for a wrong command line', async () => {
    const signed = join(PLAIN, 'signed.json');
    const wrong = [
      ['attest', MANIFEST],
      ['verify', signed, '--items', ITEMS],
      ['verify', signed, '--items', ITEMS, '--key', KEY.slice(1)],
      ['export', 'gtin-demo@1'],
    ];
    const ends = await Promise.all(wrong.map((args) => run(...args)));
    assert.deepEqual(
      ends.map(({ code }) => code),
      [2, 2, 2, 2],
    );
  });

  it('make no data directory', async () => {
    const elsewhere = { UQRP_DATA_DIR: join(folder, 'none') };
    const { code, errors } = await runCli(['dataset', 'keygen'], elsewhere);
    assert.equal(code, 1);
    assert.match(errors, /does not exist/);
    assert.ok(!readdirSync(folder).includes('none'));
  });
});
