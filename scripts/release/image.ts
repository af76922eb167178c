/** An image in the layout of the Open Container Initiative, for both architectures. deploy/Dockerfile says how it runs; the same paths are in it. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  environmentOf,
  execForm,
  only,
  parseDockerfile,
  type Stage,
} from '../../test/support/deploy/dockerfile.ts';
import { packTar, packTarGz, run, sha256Of, tidy } from './archive.ts';
import type { Architecture } from './program.ts';

export interface Build {
  readonly commit: string;
  /** Seconds. */
  readonly epoch: number;
  readonly version: string;
}

interface BasePackage {
  readonly name: string;
  readonly version: string;
  readonly debian: string;
  readonly sha256: string;
}

/** A root file system with what Node needs, and nothing that starts a shell. */
export interface Base {
  readonly architecture: Architecture;
  readonly folder: string;
  readonly packages: readonly BasePackage[];
}

const SUITE = 'trixie';
/** The file that names the system, glibc and the libraries of C++ for Node; and, the same on all machines, certificates and time zones. */
const LIBRARIES = ['base-files', 'gcc-14-base', 'libc6', 'libgcc-s1', 'libstdc++6'];
const DATA = ['ca-certificates', 'tzdata'];
const UNUSED = [
  'usr/share/man',
  'usr/share/locale',
  'usr/share/lintian',
  'usr/share/bug',
  'usr/sbin',
  'usr/bin',
];
/** The user nonroot of the Dockerfile. */
const NONROOT = 65_532;
const MEDIA = 'application/vnd.oci.image';

/**
 * Gets Debian packages by apt, which checks their signatures, and unpacks them without running anything of them.
 * UQRP_RELEASE_SNAPSHOT, such as 20261126T000000Z, takes the archive as it was then, from snapshot.debian.org.
 */
export async function baseSystems(
  work: string,
  architectures: readonly Architecture[],
  epoch: number,
): Promise<readonly Base[]> {
  const files = await downloaded(work, architectures);
  return await Promise.all(
    architectures.map(async (architecture) => {
      const folder = join(work, architecture.debian);
      const control = join(folder, 'var/lib/dpkg/status.d');
      await mkdir(control, { recursive: true });
      const packages: BasePackage[] = [];
      for (const file of files) {
        const [name = '', version = '', debian = ''] = file.replace('.deb', '').split('_');
        if (debian !== 'all' && debian !== architecture.debian) continue;
        const path = join(work, file);
        await run('dpkg-deb', ['--extract', path, folder]);
        // Where programs that look for known weaknesses expect it.
        await writeFile(join(control, name), await run('dpkg-deb', ['--field', path]));
        packages.push({ name, version: decodeURIComponent(version), debian, sha256: await sha256Of(path) });
      }
      if (packages.length !== LIBRARIES.length + DATA.length)
        throw new Error(`packages for ${architecture.debian}: ${packages.length}`);
      await finishBase(folder, epoch);
      return { architecture, folder, packages };
    }),
  );
}

/** @returns names of files in `work`, sorted */
async function downloaded(work: string, architectures: readonly Architecture[]): Promise<string[]> {
  const state = join(work, 'apt');
  for (const name of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(state, name), { recursive: true });
  const time = process.env.UQRP_RELEASE_SNAPSHOT ?? '';
  const of = (archive: string): string =>
    time === ''
      ? `http://deb.debian.org/${archive}`
      : `http://snapshot.debian.org/archive/${archive}/${time}`;
  const signed = `[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg${time === '' ? '' : ' check-valid-until=no'}]`;
  const sources = [
    `deb ${signed} ${of('debian')} ${SUITE} main`,
    `deb ${signed} ${of('debian-security')} ${SUITE}-security main`,
  ];
  await writeFile(join(state, 'sources.list'), `${sources.join('\n')}\n`);
  await writeFile(join(state, 'status'), '');
  // None of the machine's own: neither its sources nor what it has installed.
  const settings = {
    'Dir::Etc::SourceList': join(state, 'sources.list'),
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::Etc::Preferences': '/dev/null',
    'Dir::Etc::PreferencesParts': '/dev/null',
    'Dir::State': state,
    'Dir::State::Status': join(state, 'status'),
    'Dir::Cache': join(state, 'cache'),
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    'APT::Architecture': architectures[0]!.debian,
  };
  const options = [...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])];
  for (const { debian } of architectures) options.push('-o', `APT::Architectures::=${debian}`);
  await run('apt-get', ['-qq', ...options, 'update']);
  const libraries = architectures.flatMap(({ debian }) => LIBRARIES.map((name) => `${name}:${debian}`));
  await run('apt-get', ['-qq', ...options, 'download', ...libraries, ...DATA], { cwd: work });
  return (await readdir(work)).filter((name) => name.endsWith('.deb')).toSorted();
}

async function finishBase(folder: string, epoch: number): Promise<void> {
  for (const path of UNUSED) await rm(join(folder, path), { recursive: true, force: true });
  const documents = join(folder, 'usr/share/doc');
  for (const entry of await readdir(documents, { recursive: true, withFileTypes: true }))
    if (!entry.isDirectory() && entry.name !== 'copyright') await rm(join(entry.parentPath, entry.name));
  // What a maintainer script of ca-certificates would do.
  const mozilla = join(folder, 'usr/share/ca-certificates/mozilla');
  const certificates = await Promise.all(
    (await readdir(mozilla)).toSorted().map((name) => readFile(join(mozilla, name), 'utf8')),
  );
  await mkdir(join(folder, 'etc/ssl/certs'), { recursive: true });
  await writeFile(join(folder, 'etc/ssl/certs/ca-certificates.crt'), certificates.join(''));
  const texts = {
    passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\nnonroot:x:${NONROOT}:${NONROOT}:nonroot:/data:/usr/sbin/nologin\n`,
    group: `root:x:0:\nnonroot:x:${NONROOT}:\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, 'etc', name), text);
  await tidy(folder, epoch);
}

/** Writes the image to `path`: layers that change seldom come first. */
export async function imageLayout(
  programs: readonly { readonly architecture: Architecture; readonly folder: string }[],
  bases: readonly Base[],
  source: string,
  work: string,
  path: string,
  build: Build,
): Promise<void> {
  const blobs = join(work, 'layout/blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const dockerfile = await readFile(join(source, 'deploy/Dockerfile'), 'utf8');
  const [last] = parseDockerfile(dockerfile).slice(-1);
  const manifests = await Promise.all(
    programs.map(async ({ architecture, folder }, at) => {
      const layers = join(work, architecture.node);
      await layerFolders(folder, layers);
      const made = await Promise.all([
        layer(bases[at]!.folder, `Debian ${SUITE}`),
        layer(join(layers, 'node'), 'Node'),
        layer(join(layers, 'uqrp'), 'uqrp'),
        layer(join(layers, 'data'), 'folders to write to', NONROOT),
      ]);
      const config = await blob(
        blobs,
        `${MEDIA}.config.v1+json`,
        configuration(last!, architecture, made, build),
      );
      const descriptors = made.map(({ digest, size }) => ({
        mediaType: `${MEDIA}.layer.v1.tar+gzip`,
        digest,
        size,
      }));
      const manifest = {
        schemaVersion: 2,
        mediaType: `${MEDIA}.manifest.v1+json`,
        config,
        layers: descriptors,
      };
      const platform = { architecture: architecture.debian, os: 'linux' };
      return { ...(await blob(blobs, manifest.mediaType, manifest)), platform };

      async function layer(from: string, comment: string, owner = 0) {
        const file = join(work, `${architecture.node}-${comment}.tar.gz`);
        const packed = await packTarGz(from, (await readdir(from)).toSorted(), file, build.epoch, owner);
        await rename(file, join(blobs, packed.sha256));
        return {
          digest: `sha256:${packed.sha256}`,
          size: packed.size,
          diffId: `sha256:${packed.tarSha256}`,
          comment,
        };
      }
    }),
  );
  const index = await blob(blobs, `${MEDIA}.index.v1+json`, {
    schemaVersion: 2,
    mediaType: `${MEDIA}.index.v1+json`,
    manifests,
  });
  const annotations = { 'org.opencontainers.image.ref.name': build.version };
  const layout = join(work, 'layout');
  await writeFile(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...index, annotations }] }),
  );
  await tidy(layout, build.epoch);
  await packTar(layout, path, build.epoch);
}

/** The trees of the layers above the base, by hard links. */
async function layerFolders(program: string, layers: string): Promise<void> {
  for (const name of ['node/nodejs/bin', 'uqrp', 'data/data'])
    await mkdir(join(layers, name), { recursive: true });
  await run('cp', ['-l', join(program, 'lib/node'), join(layers, 'node/nodejs/bin/node')]);
  await run('cp', ['-l', join(program, 'lib/node.LICENSE'), join(layers, 'node/nodejs/LICENSE')]);
  await run('cp', ['-al', join(program, 'lib/uqrp'), join(layers, 'uqrp/app')]);
  await mkdir(join(layers, 'data/tmp'));
  await chmod(join(layers, 'data/tmp'), 0o1777);
  await chmod(join(layers, 'data/data'), 0o700);
}

interface Layer {
  readonly diffId: string;
  readonly comment: string;
}

/** What the last stage of the Dockerfile sets. `Healthcheck` is Docker's own, and others pass over it. */
function configuration(
  stage: Stage,
  { debian }: Architecture,
  layers: readonly Layer[],
  build: Build,
): object {
  const created = new Date(build.epoch * 1000).toISOString().replace('.000', '');
  const ports = only(stage, 'EXPOSE').split(' ');
  const option = (name: string): number =>
    Number.parseInt(stage.instructions.find(({ word }) => word === 'HEALTHCHECK')!.options.get(name)!, 10) *
    1e9;
  const test = execForm(only(stage, 'HEALTHCHECK').replace(/^CMD /, ''));
  return {
    created,
    architecture: debian,
    os: 'linux',
    config: {
      User: `${NONROOT}:${NONROOT}`,
      ExposedPorts: Object.fromEntries(ports.map((port) => [port.includes('/') ? port : `${port}/tcp`, {}])),
      Env: [
        'PATH=/nodejs/bin:/usr/bin:/bin',
        ...Object.entries(environmentOf(stage)).map(([name, value]) => `${name}=${value}`),
      ],
      Entrypoint: execForm(only(stage, 'ENTRYPOINT')),
      Cmd: execForm(only(stage, 'CMD')),
      Volumes: { [only(stage, 'VOLUME')]: {} },
      WorkingDir: only(stage, 'WORKDIR'),
      Labels: {
        'org.opencontainers.image.title': 'uqrp',
        'org.opencontainers.image.description': 'Small records written over REST, read by everyone over DNS',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': build.version,
        'org.opencontainers.image.revision': build.commit,
        'org.opencontainers.image.created': created,
      },
      Healthcheck: {
        Test: ['CMD', ...test],
        Interval: option('interval'),
        Timeout: option('timeout'),
        StartPeriod: option('start-period'),
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ comment }) => ({ created, created_by: 'npm run release', comment })),
  };
}

/** Writes a document under its digest. @returns its descriptor */
async function blob(folder: string, mediaType: string, value: object) {
  const text = JSON.stringify(value);
  const digest = createHash('sha256').update(text).digest('hex');
  await writeFile(join(folder, digest), text);
  return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
}
