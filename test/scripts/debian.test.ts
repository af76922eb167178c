import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

/** test/ci/release.ts installs the package and runs the same scripts as dpkg does. */

const SCRIPTS = fileURLToPath(new URL('../../deploy/debian/', import.meta.url));

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-debian-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('purge of the Debian package', () => {
  it('removes the data of the server and of nodes that have settings, and names what goes and what stays', (t) => {
    const root = temporary(t);
    const purge = (): string[] => {
      const env = { PATH: process.env.PATH, DPKG_ROOT: root };
      const done = spawnSync('sh', [join(SCRIPTS, 'postrm'), 'purge'], { env, encoding: 'utf8' });
      assert.deepEqual([done.status, done.stderr], [0, '']);
      return done.stdout.trim().split('\n');
    };
    const stays = ['uqrp-backups', 'uqrp-mine', 'uqrp-new', 'uqrp.before'];
    for (const name of ['uqrp', 'uqrp-fra1', ...stays]) {
      mkdirSync(join(root, 'var/lib', name), { recursive: true });
      writeFileSync(join(root, 'var/lib', name, 'secret'), '');
    }
    mkdirSync(join(root, 'etc/uqrp'), { recursive: true });
    // A file of another kind is no instance, and an instance `backups` would have the folder of the backups.
    for (const name of ['fra1.env', 'lhr1.env', 'backups.env', 'mine.creds'])
      writeFileSync(join(root, 'etc/uqrp', name), '');
    const kept = ['/etc/uqrp', ...stays.map((name) => `/var/lib/${name}`)];
    assert.deepEqual(purge(), [
      'uqrp: removed: /var/lib/uqrp',
      'uqrp: removed: /var/lib/uqrp-fra1',
      ...kept.map((path) => `uqrp: stays: ${path}`),
    ]);
    for (const name of stays) assert.ok(existsSync(join(root, 'var/lib', name, 'secret')), name);
    for (const name of ['uqrp', 'uqrp-fra1']) assert.equal(existsSync(join(root, 'var/lib', name)), false);
    rmSync(join(root, 'etc/uqrp'), { recursive: true });
    assert.equal(purge().length, stays.length);
  });
});

describe('uqrp-admin', () => {
  const text = readFileSync(join(SCRIPTS, 'uqrp-admin'), 'utf8');

  /** The script with settings elsewhere, for whoever runs the tests; it shows the variables in place of a command. */
  function variables(t: TestContext, settings: string, ...words: readonly string[]) {
    const folder = temporary(t);
    for (const name of ['uqrp', 'fra1']) writeFileSync(join(folder, `${name}.env`), settings);
    const script = text
      .replace('/etc/uqrp/$name.env', `${folder}/$name.env`)
      .replace('"$(id -u)" -ne 0', '0 -ne 0')
      .replace(/^exec setpriv .*$/m, 'env -0; printf "%s," "$@"');
    const env = { PATH: process.env.PATH };
    const done = spawnSync('sh', ['-c', script, 'uqrp-admin', ...words], { env, encoding: 'utf8' });
    const parts = done.stdout.split('\0');
    const pairs = parts.slice(0, -1).map((pair) => pair.split(/=(.*)/s, 2) as [string, string]);
    return { status: done.status, said: done.stderr, set: Object.fromEntries(pairs), words: parts.at(-1) };
  }

  it('reads the settings as systemd does, and runs nothing of them', (t) => {
    const settings = [
      '# UQRP_HOST=comment',
      'UQRP_DATABASE_URL=postgres://u:p$(touch x)`id`@db/uqrp?a=b&c=$HOME#d',
      'UQRP_NS="ns1=192.0.2.10, \\"two\\""',
      'UQRP_SECRET=\'a\\b "c"\'',
      'UQRP_ZONES=a\\ b',
      'UQRP_DNS_PORT=53',
    ].join('\n');
    const { status, set, words } = variables(t, settings, 'put', 'a b', '');
    assert.equal(status, 0);
    assert.equal(set.UQRP_DATABASE_URL, 'postgres://u:p$(touch x)`id`@db/uqrp?a=b&c=$HOME#d');
    assert.equal(set.UQRP_NS, 'ns1=192.0.2.10, "two"');
    assert.equal(set.UQRP_SECRET, 'a\\b "c"');
    assert.equal(set.UQRP_ZONES, 'a b');
    assert.equal(set.UQRP_DNS_PORT, '53');
    assert.equal(set.UQRP_DATA_DIR, '/var/lib/uqrp');
    assert.equal('UQRP_HOST' in set, false);
    assert.equal(words, 'put,a b,,');
  });

  it('reads spaces around =, continued lines and quotes as systemd does, so that no command makes a store of its own', (t) => {
    const settings = [
      '; UQRP_HOST=comment',
      'UQRP_ZONES = dns.real.test \t',
      'UQRP_DATABASE_URL= postgres://db/uqrp',
      '  UQRP_NS=ns1=192.0.2.10, \\',
      '  ns2=198.51.100.10',
      "UQRP_SECRET=\"a\\d \\$x\"'it''s'",
      'UQRP_SMTP_URL="two',
      'lines"',
      "UQRP_MAIL_FROM=it's",
      'UQRP_METRICS=127.0.0.1:9153\r',
      'UQRP_HOST=',
      'UQRP_TLDS=a b\\ ',
    ].join('\n');
    const { status, set } = variables(t, settings, 'doctor');
    assert.equal(status, 0);
    assert.equal(set.UQRP_ZONES, 'dns.real.test');
    assert.equal(set.UQRP_DATABASE_URL, 'postgres://db/uqrp');
    assert.equal(set.UQRP_NS, 'ns1=192.0.2.10,   ns2=198.51.100.10');
    assert.equal(set.UQRP_SECRET, 'a\\d $xits');
    assert.equal(set.UQRP_SMTP_URL, 'two\nlines');
    assert.equal(set.UQRP_MAIL_FROM, "it's");
    assert.equal(set.UQRP_METRICS, '127.0.0.1:9153');
    assert.equal(set.UQRP_HOST, '');
    assert.equal(set.UQRP_TLDS, 'a b ');
  });

  it('refuses settings that systemd would drop, with their line and without their value', (t) => {
    const lines = [
      'not a setting',
      'BAD NAME=1',
      'export UQRP_SECRET=hidden',
      '=1',
      '# a \\',
      'UQRP_SECRET="hidden',
    ];
    for (const line of lines) {
      const { status, said, words } = variables(t, `UQRP_DNS_PORT=53\n${line}\nUQRP_HOST=::1\n`, 'doctor');
      assert.deepEqual([status, words], [2, ''], line);
      assert.match(said, /^uqrp-admin: \/\S+\/uqrp\.env: line [24]: [^\n]+\n$/, line);
      assert.doesNotMatch(said, /hidden/);
    }
  });

  it('takes the settings of a node after @, and refuses a path', (t) => {
    assert.equal(variables(t, '', '@fra1', 'doctor').set.UQRP_DATA_DIR, '/var/lib/uqrp-fra1');
    for (const word of ['@', '@../fra1', '@a b'])
      assert.equal(variables(t, '', word, 'doctor').status, 2, word);
    const { status, said } = variables(t, '', '@lhr1', 'doctor');
    assert.equal(status, 2);
    assert.match(said, /^uqrp-admin: .*lhr1\.env does not exist\. [^\n]*\n$/);
  });

  it('says one line to everybody but root', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
    const as = { uid: 65_534, gid: 65_534, env: { PATH: process.env.PATH }, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', text, 'uqrp-admin', 'doctor'], {
      ...as,
      cwd: '/',
    });
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^uqrp-admin: only root may read the settings\. .*sudo uqrp-admin COMMAND\n$/);
  });
});
