import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { loadConfig } from '../../ops/config/config.ts';
import { loadSecret, secretFingerprint } from '../../ops/config/data-dir.ts';
import { isOpenToAll } from '../../ops/config/feed-settings.ts';
import { openStore } from '../../store/open.ts';
import { isSecretOfStore } from '../../store/service-facts.ts';
import {
  checkCertificate,
  checkClock,
  checkCredentials,
  checkDisk,
  checkDs,
  checkExamples,
  checkNode,
  checkRights,
  checkRootAnswer,
  checkStore,
  checkView,
  checkWriteAheadLog,
  storeFinding,
} from './checks.ts';
import { checkServer } from './doctor.ts';

const NOW = Date.UTC(2026, 0, 1);
const MB = 1_048_576;

describe('the checks of doctor', () => {
  it('compare the version of Node by numbers', () => {
    for (const [version, state] of [
      ['22.20.0', 'ok'],
      ['22.100.1', 'ok'],
      ['24.11.0', 'ok'],
      ['100.0.0', 'ok'],
      ['22.19.9', 'wrong'],
      ['24.10.9', 'wrong'],
      ['23.99.99', 'wrong'],
      ['9.99.99', 'wrong'],
    ] as const) {
      assert.equal(checkNode(version, '^22.20.0 || >=24.11.0').state, state, version);
    }
  });

  it('check the free space of the disk', () => {
    for (const [free, state] of [
      [1024 * MB, 'ok'],
      [1024 * MB - 1, 'note'],
      [100 * MB, 'note'],
      [100 * MB - 1, 'wrong'],
    ] as const) {
      assert.equal(checkDisk(free).state, state, String(free));
    }
  });

  it('note a write-ahead log that nobody empties, which keeps deleted data', () => {
    assert.deepEqual(checkWriteAheadLog(64 * MB - 1).state, 'ok');
    const { state, text } = checkWriteAheadLog(64 * MB);
    assert.equal(state, 'note');
    assert.match(text, /^uqrp\.sqlite-wal has 64 MB, .*another process reads the database without an end/);
  });

  it('find a clock that is behind the files', () => {
    assert.equal(checkClock(NOW, null).state, 'ok');
    assert.equal(checkClock(NOW, NOW + 60_000).state, 'ok');
    assert.match(checkClock(NOW, NOW + 3_600_000).text, /^the clock is 3600 s behind/);
    assert.equal(checkClock(NOW, NOW + 3_600_000).state, 'wrong');
  });

  it('call the zones and addresses of examples wrong, as a new file of settings has them', () => {
    const found = (zone: string, address: string, host = '0.0.0.0') =>
      checkExamples({
        zones: ['uqrp.net', zone],
        nameServers: [{ label: 'ns1', addresses: [address] }],
        host,
      });
    for (const zone of ['dns.example.com', 'example.org', 'uqrp.example', 'example'])
      assert.deepEqual([zone, found(zone, '8.8.8.8').state], [zone, 'wrong']);
    for (const address of ['192.0.2.10', '198.51.100.10', '203.0.113.1', '2001:db8::1']) {
      assert.deepEqual([address, found('uqrp.org', address).state], [address, 'wrong']);
      assert.equal(found('uqrp.org', address, '127.0.0.1').state, 'note');
    }
    for (const [zone, address] of [
      ['my-example.com', '192.0.20.1'],
      ['example.com.uqrp.net', '2001:db80::1'],
    ] as const)
      assert.equal(found(zone, address).state, 'ok');
  });

  it('name what other users can reach', () => {
    assert.equal(checkRights([]).state, 'ok');
    assert.match(checkRights(['/data/view']).text, /reach \/data\/view\./);
  });

  it('call credentials wrong that every user reads (finding 10 of the review of operation)', () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-doctor-'));
    const file = join(dir, 'fra1.creds');
    try {
      writeFileSync(file, '');
      for (const [mode, state] of [
        [0o600, 'ok'],
        // Kubernetes gives secrets to the group of a pod.
        [0o440, 'ok'],
        [0o604, 'wrong'],
        [0o644, 'wrong'],
        [0o602, 'wrong'],
      ] as const) {
        chmodSync(file, mode);
        assert.equal(checkCredentials(file, isOpenToAll(file)).state, state, mode.toString(8));
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('check the dates of a certificate and show its names', () => {
    const day = 86_400_000;
    const { cert, key } = makeSelfSigned({ hosts: ['localhost'], now: NOW });
    const first = checkCertificate(cert, key, NOW + day);
    assert.equal(first.state, 'ok');
    assert.match(first.text, /DNS:localhost/);
    const [, days] = /valid for (\d+) days/.exec(first.text) ?? [];
    const end = NOW + day + Number(days) * day;
    assert.equal(checkCertificate(cert, key, end - 13 * day).state, 'note');
    assert.match(checkCertificate(cert, key, end + 2 * day).text, /^ended \d+ days ago/);
    assert.equal(checkCertificate(cert, key, end + 2 * day).state, 'wrong');
  });

  it('say what to do with a certificate or key that is empty, and not what OpenSSL calls it', () => {
    const { cert, key } = makeSelfSigned({ hosts: ['localhost'], now: NOW });
    const [noCert, noKey] = [checkCertificate('', key, NOW), checkCertificate(cert, 'x', NOW)];
    assert.deepEqual([noCert.state, noKey.state], ['wrong', 'wrong']);
    assert.match(noCert.text, /file of the certificate \(UQRP_TLS_CERT\) is empty or not PEM\. Replace it/);
    assert.match(noKey.text, /file of the private key \(UQRP_TLS_KEY\) is empty or not PEM\. Replace it/);
  });

  it('find a private key of another certificate', () => {
    const [one, other] = [1, 2].map(() => makeSelfSigned({ hosts: ['localhost'], now: NOW }));
    assert.equal(checkCertificate(one!.cert, one!.key, NOW + 1000).state, 'ok');
    const finding = checkCertificate(one!.cert, other!.key, NOW + 1000);
    assert.equal(finding.state, 'wrong');
    assert.match(finding.text, /^the private key is not the key of the certificate/);
  });

  it('find files of the view that this user cannot use, or that others can', () => {
    const file = { path: '/data/view/1.mdb', mode: 0o100600, isUsable: true };
    const directory = { path: '/data/view', mode: 0o040700, isUsable: true };
    assert.equal(checkView([directory, file]).state, 'ok');
    const locked = checkView([directory, { ...file, isUsable: false }]);
    assert.match(locked.text, /^this user cannot read and write \/data\/view\/1\.mdb\./);
    const open = checkView([directory, { ...file, mode: 0o100644 }]);
    assert.match(open.text, /^other users can reach \/data\/view\/1\.mdb\./);
    for (const { state } of [locked, open]) assert.equal(state, 'wrong');
  });

  it('compare schema and secret of a database with what this program needs', () => {
    for (const [schema, fingerprint, text] of [
      ['0007-b', 'own', /^answers, schema 0007-b, secret fits$/],
      ['0007-b', null, /^answers/],
      ['0007-b', 'other', /^it was made with another secret/],
      ['0006-a', 'own', /^schema 0006-a, this program needs 0007-b/],
      ['0008-c', 'own', /^schema 0008-c is newer than this program/],
      ['none', null, /^schema none, this program needs 0007-b/],
    ] as const) {
      const finding = storeFinding({ schema, fingerprint }, '0007-b', 'own');
      assert.match(finding.text, text);
      assert.equal(finding.state, finding.text.startsWith('answers') ? 'ok' : 'wrong');
    }
  });

  it('connect to PostgreSQL, and change nothing there', { skip: postgresMissing() ?? false }, async () => {
    const database = await postgresDatabase();
    const secret = 'a secret of more than 32 characters';
    const config = { role: 'control' as const, dataDir: '/nonexistent', databaseUrl: database.url, secret };
    const clock = () => NOW;
    try {
      assert.equal((await checkStore(config, clock)).state, 'wrong', 'no table was made');
      const store = await openStore({ ...config, clock });
      const own = secretFingerprint(loadSecret(config.dataDir, secret));
      await isSecretOfStore(store, own, () => false);
      await store.close();
      assert.match((await checkStore(config, clock)).text, /^answers, schema \d{4}-.*secret fits$/);
      const other = await checkStore({ ...config, secret: 'y'.repeat(32) }, clock);
      assert.match(other.text, /made with another secret/);
    } finally {
      await database.drop();
    }
    assert.equal((await checkStore({ ...config, role: 'edge' }, clock)).state, 'note');
    const gone = await checkStore({ ...config, databaseUrl: 'postgres://u@127.0.0.1:1/d' }, clock);
    assert.match(gone.text, /^UQRP_DATABASE_URL: .*ECONNREFUSED .*See that PostgreSQL runs/);
  });

  it('find a port of a server that does not run in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const config = loadConfig({
      UQRP_DATA_DIR: '/nonexistent',
      UQRP_HTTP_PORT: String(port),
      UQRP_DNS_PORT: '0',
      UQRP_DOT_PORT: '0',
      UQRP_DOH_PORT: '0',
    });
    try {
      const taken = await checkServer(config);
      assert.equal(taken.state, 'wrong');
      assert.match(taken.text, new RegExp(`^UQRP_HTTP_PORT ${port}/tcp is in use by `));
    } finally {
      other.close();
      await once(other, 'close');
    }
    assert.equal((await checkServer(config)).state, 'note');
  });

  it('say of a lost or damaged SQLite file where it is, and what to do', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-doctor-'));
    const config = { role: 'all' as const, dataDir, databaseUrl: null, secret: null };
    const file = join(dataDir, 'uqrp.sqlite');
    try {
      const before = await checkStore(config, () => NOW);
      assert.equal(before.state, 'note', 'nothing is lost before the first start');
      for (const left of ['secret', 'view', 'keys']) {
        writeFileSync(join(dataDir, left), '');
        const lost = await checkStore(config, () => NOW);
        assert.equal(lost.state, 'wrong', left);
        assert.ok(lost.text.startsWith(`there is no ${file}. Restore a backup`), lost.text);
        rmSync(join(dataDir, left));
      }
      writeFileSync(file, 'no database');
      const damaged = await checkStore(config, () => NOW);
      assert.equal(damaged.text, `The database ${file} is not a database. Restore a backup.`);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('say what a resolver answers that does not resolve', () => {
    assert.equal(checkRootAnswer('resolver 192.0.2.1', 0).state, 'ok');
    const { state, text } = checkRootAnswer('resolver 192.0.2.1', 3);
    assert.equal(state, 'wrong');
    assert.match(text, /NXDOMAIN\. Set UQRP_RESOLVERS/);
  });

  it('compare the DS records at the parent with our keys', () => {
    const own = ['12345 13 2 AB', '222 8 2 CD'];
    assert.equal(checkDs('uqrp.net', own, ['12345 13 2 ab', '9 9 2 00']).state, 'ok');
    assert.equal(checkDs('uqrp.net', own, ['9 9 2 00']).state, 'wrong');
    assert.equal(checkDs('uqrp.net', own, []).state, 'note');
    assert.equal(checkDs('uqrp.net', own, null).state, 'note');
  });

  it('call lost keys of a delegated zone wrong, and missing ones of another a note', () => {
    assert.match(
      checkDs('uqrp.net', [], ['9 9 2 00']).text,
      /^the parent has DS records, and there are no keys/,
    );
    assert.equal(checkDs('uqrp.net', [], ['9 9 2 00']).state, 'wrong');
    assert.equal(checkDs('uqrp.net', [], []).state, 'note');
    assert.equal(checkDs('uqrp.net', [], null).state, 'note');
  });
});
