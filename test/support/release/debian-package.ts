/** The life of the Debian package in a place that is thrown away: the release before, a record, the upgrade, removal, purge. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unitValues } from '../deploy/unit-file.ts';
import { type Service, startService } from './main-job.ts';
import type { Place } from './place.ts';

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const UNITS = 'usr/lib/systemd/system';
const SETTINGS = '/etc/uqrp/uqrp.env';

/** The same package under another number, as the release before. */
export function earlierPackage(file: string, work: string, version: string): string {
  const tree = join(work, 'earlier');
  execFileSync('dpkg-deb', ['--raw-extract', file, tree]);
  for (const path of ['DEBIAN/control', 'usr/lib/uqrp/lib/uqrp/package.json']) {
    const text = readFileSync(join(tree, path), 'utf8');
    writeFileSync(join(tree, path), text.replace(/^(Version: | {2}"version": ")[^"\n]+/m, `$1${version}`));
  }
  const target = join(work, `uqrp_${version}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, target], { stdio: 'ignore' });
  return target;
}

/** @param version of `file`, and `earlier` of the other */
export async function tryDebianPackage(
  place: Place,
  files: {
    readonly file: string;
    readonly version: string;
    readonly earlier: string;
    readonly before: string;
  },
): Promise<void> {
  const done = (...command: readonly string[]): string => {
    const { code, out, errors } = place.run(command, { env: { PATH, DEBIAN_FRONTEND: 'noninteractive' } });
    assert.equal(code, 0, `${command.join(' ')}: ${out}${errors}`);
    return out;
  };
  const inside = (path: string): string => join(place.root, path);
  const install = (file: string): void => {
    cpSync(file, inside('opt/uqrp.deb'));
    done('dpkg', '--install', '/opt/uqrp.deb');
    done('rm', '/opt/uqrp.deb');
  };

  install(files.earlier);
  assert.match(done('uqrp', '--version'), new RegExp(`^${files.before}\\+g`));
  assert.match(done('getent', 'passwd', 'uqrp'), /:\/var\/lib\/uqrp:\/usr\/sbin\/nologin/);
  assert.equal(statSync(inside(SETTINGS)).mode & 0o7777, 0o600);
  done('sh', '-c', 'man --path uqrp >/dev/null 2>&1 || test -e /usr/share/man/man1/uqrp.1.gz');
  done('bash', '-n', '/usr/share/bash-completion/completions/uqrp');
  for (const name of ['uqrp.service', 'uqrp@fra1.service', 'uqrp-backup.service', 'uqrp-backup.timer']) {
    const path = inside(join(UNITS, name.replace('fra1', '')));
    assert.ok(existsSync(path), name);
  }

  // What an operator does.
  const settings = readFileSync(inside(SETTINGS), 'utf8').replaceAll('dns.example.com', 'dns.example.net');
  writeFileSync(inside(SETTINGS), settings);
  // At the path of docs/operations/below-the-sockets.md.
  const loader = place.run(['/usr/lib/uqrp/lib/uqrp/native/prebuilt/linux-x64/uqrp-xdp'], { env: { PATH } });
  assert.deepEqual([loader.code, loader.errors], [2, 'usage: uqrp-xdp SOCKET PORT INTERFACE...\n']);
  const service = asUnit(place, readFileSync(inside(join(UNITS, 'uqrp.service')), 'utf8'), settings, done);
  const first = await startService(service);
  const name = first.write('first-boot', 'kept');
  await first.read(name, 'kept');
  const doctor = place.run(['uqrp-admin', 'doctor'], { env: { PATH } });
  assert.match(doctor.out, /settings +wrong +UQRP_ZONES has dns\.example\.net, a name for examples/);
  await first.stop();

  install(files.file);
  assert.match(done('uqrp', '--version'), new RegExp(`^${files.version.replaceAll('.', '\\.')}\\+g`));
  assert.equal(readFileSync(inside(SETTINGS), 'utf8'), settings, 'the upgrade changed the settings');
  const second = await startService(service);
  await second.read(name, 'kept');
  await second.read(second.write('after-upgrade', 'new'), 'new');
  // docs/operations/back-up.md and restore.md, as root and without variables.
  assert.equal(done('uqrp-admin', 'user', 'list').includes('you@example.net'), true);
  done('install', '-d', '-o', 'uqrp', '-g', 'uqrp', '-m', '700', '/var/lib/uqrp-backups');
  done('uqrp-admin', 'backup', '/var/lib/uqrp-backups/one');
  await second.stop();
  done('mv', '/var/lib/uqrp', '/var/lib/uqrp-before');
  done('install', '-d', '-o', 'uqrp', '-g', 'uqrp', '-m', '700', '/var/lib/uqrp');
  done('uqrp-admin', 'restore', '/var/lib/uqrp-backups/one');
  done('uqrp-admin', 'dnssec', 'ds');
  const third = await startService(service);
  await third.read(name, 'kept');
  await third.stop();

  // A node, and a copy that somebody made: both are the user's.
  for (const each of ['fra1', 'new']) done('install', '-d', '-o', 'uqrp', `/var/lib/uqrp-${each}`);
  writeFileSync(inside('etc/uqrp/fra1.env'), '');
  done('dpkg', '--remove', 'uqrp');
  assert.equal(existsSync(inside('usr/lib/uqrp')), false);
  assert.equal(readFileSync(inside(SETTINGS), 'utf8'), settings, 'removed settings');
  assert.ok(existsSync(inside('var/lib/uqrp/uqrp.sqlite')), 'removed data');
  done('dpkg', '--purge', 'uqrp');
  const found = done('find', '/etc', '/usr', '/var', '-xdev', '-name', '*uqrp*').trim().split('\n');
  const left = found.filter((path) => !path.endsWith('/uqrp.sqlite'));
  assert.deepEqual(left.toSorted(), [
    '/etc/uqrp',
    ...['backups', 'before', 'new'].map((each) => `/var/lib/uqrp-${each}`),
  ]);
  assert.equal(place.run(['dpkg', '--status', 'uqrp'], { env: { PATH } }).code, 1);
}

/** Runs what the unit runs, as its user, with its variables, capabilities and directories: systemd does the same. */
function asUnit(
  place: Place,
  unit: string,
  settings: string,
  done: (...command: readonly string[]) => string,
): Service {
  const [user, command, state, capability, mode] = [
    ...['User', 'ExecStart', 'StateDirectory', 'AmbientCapabilities', 'StateDirectoryMode'],
  ].map((name) => unitValues(unit, name)[0]!);
  const pairs = [...unitValues(unit, 'Environment'), ...settings.split('\n')].filter((line) =>
    /^UQRP_\w+=/.test(line),
  );
  const env = {
    PATH,
    ...Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s, 2) as [string, string])),
  };
  done('install', '-d', '-o', user!, '-g', user!, '-m', mode!, `/var/lib/${state}`);
  const right = `-all,+${capability!.replace('CAP_', '').toLowerCase()}`;
  const drop = [
    'setpriv',
    `--reuid=${user}`,
    `--regid=${user}`,
    '--init-groups',
    '--no-new-privs',
    `--inh-caps=${right}`,
    `--ambient-caps=${right}`,
    `--bounding-set=${right}`,
  ];
  const plain = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups'];
  return {
    place,
    uqrp: [...plain, 'uqrp'],
    serve: [...drop, ...command!.split(' ')],
    as: { env },
    zone: 'dns.example.net',
    ports: { http: 8080, dns: 53 },
  };
}
