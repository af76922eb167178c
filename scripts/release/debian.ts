/** A package for Debian and Ubuntu: the folder of the program below /usr/lib/uqrp, and what systemd, man and the shells look for. */
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { run, tidy } from './archive.ts';
import type { Architecture } from './program.ts';

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly homepage: string;
  readonly author: string;
}

/** Where files of deploy/ are in the package. */
const PLACES: Readonly<Record<string, string>> = {
  'systemd/uqrp.service': 'usr/lib/systemd/system/uqrp.service',
  'systemd/uqrp@.service': 'usr/lib/systemd/system/uqrp@.service',
  'systemd/uqrp-backup.service': 'usr/lib/systemd/system/uqrp-backup.service',
  'systemd/uqrp-backup.timer': 'usr/lib/systemd/system/uqrp-backup.timer',
  'systemd/uqrp.sysusers.conf': 'usr/lib/sysusers.d/uqrp.conf',
  'systemd/uqrp.env': 'etc/uqrp/uqrp.env',
  'debian/README.Debian': 'usr/share/doc/uqrp/README.Debian',
  'debian/uqrp-admin': 'usr/bin/uqrp-admin',
  'debian/lintian-overrides': 'usr/share/lintian/overrides/uqrp',
};
/** In the packages of Debian shells look elsewhere than below /usr/local. */
const SHARED: Readonly<Record<string, string>> = {
  'bash-completion/completions/uqrp': 'usr/share/bash-completion/completions/uqrp',
  'zsh/site-functions/_uqrp': 'usr/share/zsh/vendor-completions/_uqrp',
  'fish/vendor_completions.d/uqrp.fish': 'usr/share/fish/vendor_completions.d/uqrp.fish',
  'man/man1/uqrp.1': 'usr/share/man/man1/uqrp.1',
};
const SETTINGS = 'etc/uqrp/uqrp.env';
const SCRIPTS = ['postinst', 'prerm', 'postrm'];
/** In the order of the format: what Node and the prebuilt binaries need, and who makes the user. */
const DEPENDS =
  'libc6 (>= 2.34), libstdc++6 (>= 11), libgcc-s1, systemd | systemd-standalone-sysusers | systemd-sysusers';

/**
 * Makes `uqrp_VERSION_ARCH.deb`.
 * @param program a folder of `programFolder`
 * @param source the checkout
 * @param root a new folder for the tree of the package
 */
export async function debianPackage(
  program: string,
  source: string,
  root: string,
  target: string,
  architecture: Architecture,
  epoch: number,
): Promise<void> {
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as Manifest;
  const version = debianVersion(manifest.version);
  await mkdir(join(root, 'DEBIAN'), { recursive: true });
  for (const name of ['bin', 'lib'])
    await cp(join(program, name), join(root, 'usr/lib/uqrp', name), { recursive: true });
  await mkdir(join(root, 'usr/bin'));
  await symlink('../lib/uqrp/bin/uqrp', join(root, 'usr/bin/uqrp'));
  await place(join(source, 'deploy'), root, PLACES);
  await place(join(program, 'share'), root, SHARED);
  const documents = join(root, 'usr/share/doc/uqrp');
  await mkdir(documents, { recursive: true });
  // The documents are read by the program too: they stay beside it.
  await symlink('../../../lib/uqrp/lib/uqrp/docs', join(documents, 'docs'));
  await writeFile(join(documents, 'copyright'), copyright(manifest));
  await writeFile(join(documents, 'changelog'), changelog(manifest, version, epoch));
  await cp(join(source, 'CHANGELOG.md'), join(documents, 'NEWS.md'));
  await tidy(root, epoch);
  for (const path of ['doc/uqrp/changelog', 'doc/uqrp/NEWS.md', 'man/man1/uqrp.1'])
    await run('gzip', ['-n', '-9', join(root, 'usr/share', path)]);

  await symlink('uqrp.1.gz', join(root, 'usr/share/man/man1/uqrp-admin.1.gz'));

  const files = await filesOf(root);
  const sums = await Promise.all(
    files.map(
      async (path) =>
        `${createHash('md5')
          .update(await readFile(path))
          .digest('hex')}  ${relative(root, path)}\n`,
    ),
  );
  const octets = await Promise.all(files.map(async (path) => (await stat(path)).size));
  const kibibytes = octets.reduce((sum, size) => sum + Math.ceil(size / 1024), 0);
  const control = join(root, 'DEBIAN');
  await writeFile(join(control, 'control'), controlFile(manifest, version, architecture, kibibytes));
  await writeFile(join(control, 'conffiles'), `/${SETTINGS}\n`);
  await writeFile(
    join(control, 'md5sums'),
    sums.filter((line) => !line.endsWith(`  ${SETTINGS}\n`)).join(''),
  );
  for (const name of SCRIPTS) await cp(join(source, 'deploy/debian', name), join(control, name));
  await tidy(root, epoch);
  for (const name of SCRIPTS) await chmod(join(control, name), 0o755);
  // Passwords of a database and of a mail server stand in it.
  await chmod(join(root, SETTINGS), 0o600);
  await utimes(join(root, SETTINGS), epoch, epoch);
  const name = `uqrp_${version}_${architecture.debian}.deb`;
  // One thread: several divide the data, and so change the octets.
  await run(
    'dpkg-deb',
    ['--root-owner-group', '-Zxz', '-z1', '--threads-max=1', '--build', root, join(target, name)],
    {
      env: { SOURCE_DATE_EPOCH: `${epoch}` },
    },
  );
}

/** In Debian `~` sorts before the release, as `-` does for npm. */
export function debianVersion(version: string): string {
  return version.replace('-', '~');
}

async function place(from: string, root: string, places: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, path] of Object.entries(places)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await cp(join(from, name), join(root, path));
  }
}

/** Of a package's tree, sorted, without those for dpkg. */
async function filesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(join(root, 'DEBIAN/')))
    .toSorted();
}

function controlFile(
  { description, homepage, author }: Manifest,
  version: string,
  { debian }: Architecture,
  kibibytes: number,
): string {
  return `Package: uqrp
Version: ${version}
Architecture: ${debian}
Maintainer: ${author}
Installed-Size: ${kibibytes}
Depends: ${DEPENDS}
Recommends: ca-certificates
Section: net
Priority: optional
Homepage: ${homepage}
Description: ${description[0]!.toLowerCase()}${description.slice(1)}
 A server for small records: programs write them over REST, and everyone
 reads them over DNS, DNS over TLS and DNS over HTTPS, with DNSSEC. It has
 a dashboard, webhooks, feature flags and public services such as units,
 weather and time.
 .
 The package brings the Node that it runs on. The service is started by
 hand, after its settings are in /etc/uqrp/uqrp.env.
`;
}

function changelog({ author }: Manifest, version: string, epoch: number): string {
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  return `uqrp (${version}) stable; urgency=medium

  * Release ${version}. NEWS.md.gz beside this file says what has changed.

 -- ${author}  ${date}
`;
}

function copyright({ homepage, author }: Manifest): string {
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: uqrp
Upstream-Contact: ${author}
Source: ${homepage}

Files: *
Copyright: 2026 the uqrp authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

Files: usr/lib/uqrp/lib/node
Copyright: 2009-2026 Node.js contributors
License: node
 The text is in /usr/lib/uqrp/lib/node.LICENSE.

Files: usr/lib/uqrp/lib/uqrp/node_modules/*
Copyright: 2009-2026 the authors of each package
License: packages
 Each package has its text in its folder.

Files: usr/lib/uqrp/lib/uqrp/dist/services/places/data/*
Copyright: 2020 GeoNames
License: CC-BY-4.0
 https://creativecommons.org/licenses/by/4.0/
`;
}
