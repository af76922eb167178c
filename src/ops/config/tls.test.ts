import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { makeSelfSigned } from '../../base/certificates.ts';
import { TLS_FAULTS } from '../../base/network/tls.ts';
import { ConfigError } from './config.ts';
import { type LoadedTls, loadTls, type TlsOptions } from './tls.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 20);

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'uqrp-tls-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function load(options: Partial<TlsOptions> = {}): LoadedTls {
  return loadTls({
    dataDir,
    host: '127.0.0.1',
    files: null,
    clock: () => NOW,
    makeSelfSigned,
    ...options,
  });
}

describe('loadTls, self-signed', () => {
  it('makes a pair once, with a key for its owner alone', () => {
    const made = load();
    assert.equal(made.origin, 'made');
    const directory = join(dataDir, 'tls');
    assert.deepEqual(readdirSync(directory).sort(), ['cert.pem', 'key.pem']);
    assert.equal(statSync(join(directory, 'key.pem')).mode & 0o777, 0o600);
    assert.equal(readFileSync(join(directory, 'cert.pem'), 'utf8'), made.cert);
    assert.deepEqual(load(), { ...made, origin: 'kept' });
  });

  it('covers this host by every name, and the address that listeners bind', () => {
    const certificate = new X509Certificate(load({ host: '192.0.2.7' }).cert);
    assert.equal(certificate.checkHost('localhost'), 'localhost');
    for (const address of ['127.0.0.1', '::1', '192.0.2.7']) assert.ok(certificate.checkIP(address), address);
    assert.equal(certificate.checkIP('192.0.2.8'), undefined);
  });

  it('makes another when the address changes, and none for an unspecified one', () => {
    load();
    assert.equal(load({ host: '0.0.0.0' }).origin, 'kept');
    assert.equal(load({ host: '::' }).origin, 'kept');
    assert.equal(load({ host: '2001:db8::1' }).origin, 'renewed');
    assert.equal(load({ host: '2001:db8::1' }).origin, 'kept');
  });

  it('renews a pair within 30 days of its end', () => {
    const { notAfter } = load();
    assert.equal(load({ clock: () => notAfter - 30 * DAY - 1 }).origin, 'kept');
    assert.equal(load({ clock: () => notAfter - 30 * DAY }).origin, 'renewed');
  });

  it('makes another pair when the files do not belong together or are damaged', () => {
    const key = join(dataDir, 'tls', 'key.pem');
    load();
    for (const content of ['', 'damaged', makeSelfSigned({ hosts: ['localhost'], now: NOW }).key]) {
      writeFileSync(key, content);
      assert.equal(load().origin, 'made');
      assert.equal(statSync(key).mode & 0o777, 0o600);
      assert.equal(load().origin, 'kept');
    }
  });
});

describe('loadTls, the operator’s files', () => {
  const pair = makeSelfSigned({ hosts: ['dns.example'], now: NOW });
  const other = makeSelfSigned({ hosts: ['dns.example'], now: NOW });

  function loadFiles(cert: string | null, key: string | null): LoadedTls {
    const files = { cert: join(dataDir, 'c.pem'), key: join(dataDir, 'k.pem') };
    if (cert !== null) writeFileSync(files.cert, cert);
    if (key !== null) writeFileSync(files.key, key);
    return load({ files });
  }

  it('reads them, and writes nothing', () => {
    const loaded = loadFiles(`${pair.cert}${other.cert}`, pair.key);
    assert.equal(loaded.origin, 'operator');
    assert.equal(loaded.cert, `${pair.cert}${other.cert}`);
    assert.equal(loaded.key, pair.key);
    assert.deepEqual(readdirSync(dataDir).sort(), ['c.pem', 'k.pem']);
  });

  const cases: readonly [string, string | null, string | null, readonly string[]][] = [
    ['absent files', null, null, [TLS_FAULTS.certFile, TLS_FAULTS.keyFile]],
    ['a certificate that is none', 'text', pair.key, ['UQRP_TLS_CERT must be a PEM file with a certificate']],
    [
      'a key that is none',
      pair.cert,
      pair.cert,
      ['UQRP_TLS_KEY must be a PEM file with a private key without a passphrase'],
    ],
    ['a key of another certificate', pair.cert, other.key, ['UQRP_TLS_KEY must be the key of UQRP_TLS_CERT']],
  ];
  for (const [what, cert, key, faults] of cases) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => loadFiles(cert, key),
        (error: unknown) => {
          assert.ok(error instanceof ConfigError);
          assert.deepEqual(error.faults, faults);
          return true;
        },
      );
    });
  }
});
