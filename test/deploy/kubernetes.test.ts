import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DaemonSet } from 'kubernetes-models/apps/v1/DaemonSet';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Service } from 'kubernetes-models/v1/Service';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/ops/config/config.ts';
import { ENVIRONMENT } from '../../src/ops/config/env.ts';
import { environmentOf, parseDockerfile } from '../support/deploy/dockerfile.ts';
import { deployText } from '../support/deploy/unit-file.ts';
import { typeFaults } from '../support/sdk/type-check.ts';

const FILES = ['all-in-one.yaml', 'nodes.yaml'] as const;
const KINDS = { DaemonSet, Deployment, StatefulSet, ConfigMap, Service } as const;
const IMAGE = parseDockerfile(deployText('Dockerfile')).at(-1)!;
const SECRETS = { UQRP_DATABASE_URL: 'postgres://u:p@db.example.com/uqrp', UQRP_SECRET: 'x'.repeat(32) };

// biome-ignore lint/suspicious/noExplicitAny: the shapes are checked by the models
type Any = any;

const documents = (file: string): Any[] =>
  parseAllDocuments(deployText(`kubernetes/${file}`)).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
const workloads = (file: string): Any[] => documents(file).filter(({ spec }) => spec?.template !== undefined);
const containers = (file: string): Any[] =>
  workloads(file).flatMap(({ spec }) => spec.template.spec.containers);
const uqrps = (file: string): Any[] => containers(file).filter(({ name }) => name === 'uqrp');

/** What a container's process gets, secrets and names of this cluster included. */
function environment(file: string, container: Any): Record<string, string> {
  const all: Record<string, string> = {};
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    const map = documents(file).find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef?.name,
    );
    if (secretRef === undefined) assert.ok(map, `no ConfigMap ${configMapRef.name}`);
    Object.assign(all, secretRef === undefined ? map.data : SECRETS);
  }
  for (const { name, value, valueFrom } of container.env ?? [])
    all[name] =
      valueFrom === undefined ? value.replace(/\$\((\w+)\)/g, (_: string, of: string) => all[of]) : 'fra1';
  return all;
}

/** An object of a manifest as TypeScript: a field that Kubernetes does not have is then a fault of types. */
const asProgram = (object: Any): string =>
  `import type { I${object.kind} } from 'kubernetes-models/${object.apiVersion}/${object.kind}';
export const object: I${object.kind} = ${JSON.stringify(object)};\n`;

/** Runs the command line. @returns its standard output */
function uqrp(...args: readonly string[]): string {
  const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

const noNats =
  spawnSync('/usr/sbin/nats-server', ['--version']).status === 0
    ? false
    : 'nats-server is missing (Debian: apt-get install nats-server)';

describe('deploy/kubernetes', () => {
  let folder: string;
  let feed: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'uqrp-manifest-'));
    feed = join(folder, 'made-here');
    uqrp('feed', 'init', feed, '--listen', '127.0.0.1:4222', '--host', 'uqrp-nats');
    writeFileSync(join(feed, 'fra1.creds'), uqrp('node', 'add', 'fra1', '--feed', feed), { mode: 0o600 });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('has objects that Kubernetes knows, and no field that it does not', () => {
    const objects = FILES.flatMap(documents);
    assert.ok(objects.length >= 10);
    for (const object of objects) {
      const Kind = KINDS[object.kind as keyof typeof KINDS];
      new Kind(object).validate();
    }
    const broken = structuredClone(objects.find(({ kind }) => kind === 'StatefulSet'));
    broken.spec.template.spec.containers[0].ports[0].containerPort = 'http';
    assert.throws(() => new StatefulSet(broken).validate(), /containerPort/);

    const misspelled = structuredClone(objects.find(({ kind }) => kind === 'StatefulSet'));
    misspelled.spec.template.spec.containers[0].securityContext.readOnlyRootFileSystem = true;
    const here = fileURLToPath(new URL('.', import.meta.url));
    const texts = new Map(
      [...objects, misspelled].map((each, i) => [`${here}object-${i}.ts`, asProgram(each)]),
    );
    const faults = typeFaults([...texts.keys()], texts).map((each) => each.map(({ message }) => message));
    assert.deepEqual(faults.slice(0, -1).flat(), []);
    assert.match(faults.at(-1)!.join('\n'), /readOnlyRootFileSystem/);
  });

  for (const file of FILES) {
    it(`${file}: sets variables that the server takes`, () => {
      assert.ok(uqrps(file).length > 0);
      for (const container of uqrps(file)) {
        const all = environment(file, container);
        const ours = Object.fromEntries(Object.entries(all).filter(([name]) => name !== 'MACHINE'));
        for (const name of Object.keys(ours)) assert.ok(name in ENVIRONMENT, name);
        const { UQRP_FEED_CREDENTIALS: path, ...rest } = ours;
        const credentials =
          path === undefined ? {} : { UQRP_FEED_CREDENTIALS: path.replace('/credentials', feed) };
        const config = loadConfig({ ...rest, ...credentials });
        assert.equal(config.dataDir, environmentOf(IMAGE).UQRP_DATA_DIR);
        assert.equal(config.feed !== null, path !== undefined);
      }
    });

    it(`${file}: has ports, probes and volumes that fit the server`, () => {
      const ports: Record<string, number> = {
        http: Number(ENVIRONMENT.UQRP_HTTP_PORT.fallback),
        'dns-udp': Number(ENVIRONMENT.UQRP_DNS_PORT.fallback),
        'dns-tcp': Number(ENVIRONMENT.UQRP_DNS_PORT.fallback),
        dot: Number(ENVIRONMENT.UQRP_DOT_PORT.fallback),
        doh: Number(ENVIRONMENT.UQRP_DOH_PORT.fallback),
        metrics: Number(environmentOf(IMAGE).UQRP_METRICS?.split(':')[1]),
      };
      for (const container of uqrps(file)) {
        for (const { name, containerPort, protocol } of container.ports) {
          assert.equal(containerPort, ports[name], name);
          assert.equal(protocol, name === 'dns-udp' ? 'UDP' : 'TCP', name);
        }
        const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
        assert.deepEqual(
          probes.map(({ httpGet }) => [httpGet.path, httpGet.port]),
          [
            ['/livez', 'metrics'],
            ['/livez', 'metrics'],
            ['/readyz', 'metrics'],
          ],
        );
        const others = containers(file).flatMap(({ readinessProbe }) => readinessProbe ?? []);
        // A second, which Kubernetes takes otherwise, is little for a busy machine.
        for (const { timeoutSeconds } of [...probes, ...others]) assert.equal(timeoutSeconds, 5);
        const mounts = container.volumeMounts.map(({ mountPath }: Any) => mountPath);
        assert.ok(
          environment(file, container).UQRP_DATA_DIR?.startsWith('/data/') && mounts.includes('/data'),
        );
      }
      for (const { spec } of documents(file).filter(({ kind }) => kind === 'Service')) {
        const [target] = workloads(file).filter(
          (each) => each.spec.template.metadata.labels.app === spec.selector.app,
        );
        const named = target.spec.template.spec.containers.flatMap((each: Any) => each.ports);
        for (const { targetPort, protocol } of spec.ports)
          assert.ok(
            named.some((port: Any) => port.name === targetPort && port.protocol === protocol),
            targetPort,
          );
      }
    });

    it(`${file}: gives no process more rights than it needs`, () => {
      for (const { spec } of workloads(file)) {
        const pod = spec.template.spec;
        assert.equal(pod.automountServiceAccountToken, false);
        assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser], [true, 65_532]);
        assert.ok(pod.terminationGracePeriodSeconds > 10);
        const volumes = [...(pod.volumes ?? []), ...(spec.volumeClaimTemplates ?? [])];
        const names = volumes.map((each: Any) => each.name ?? each.metadata.name);
        for (const { securityContext, volumeMounts } of [...pod.containers, ...(pod.initContainers ?? [])]) {
          assert.deepEqual(securityContext, {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          for (const { name } of volumeMounts) assert.ok(names.includes(name), name);
        }
      }
    });
  }

  it('nodes.yaml: the broker starts from the files of "feed init", wherever they were made', {
    skip: noNats,
  }, () => {
    const [{ spec }] = workloads('nodes.yaml').filter(({ metadata }) => metadata.name === 'uqrp-nats');
    const [{ command }] = spec.template.spec.initContainers;
    const copy = join(folder, 'feed');
    mkdirSync(copy);
    // What the secret holds, by the command at the top of the file, as it is mounted.
    const [create = ''] = deployText('kubernetes/nodes.yaml').match(/secret generic uqrp-feed .*/) ?? [];
    const secret = join(folder, 'secret');
    mkdirSync(secret);
    for (const [, name] of create.matchAll(/--from-file=feed\/(\S+)/g)) {
      copyFileSync(join(feed, name!), join(secret, name!));
      chmodSync(join(secret, name!), 0o440);
    }
    assert.deepEqual(readdirSync(secret).sort(), [
      'ca.pem',
      'nats-server.conf',
      'nodes.conf',
      'server.key',
      'server.pem',
    ]);
    const line = command[2].replaceAll('/feed-secret', secret).replaceAll('/feed/', `${copy}/`);
    // As the user of the pod, without capabilities: root could write files of mode 0440.
    const isRoot = process.getuid?.() === 0;
    if (isRoot)
      for (const path of [folder, secret, copy, ...readdirSync(secret).map((name) => join(secret, name))])
        chownSync(path, 65532, 65532);
    const asPod = [
      'setpriv',
      '--reuid',
      '65532',
      '--regid',
      '65532',
      '--clear-groups',
      '--bounding-set',
      '-all',
    ];
    const shell = spawnSync('busybox', ['true']).status === 0 ? ['busybox', 'sh'] : ['sh'];
    const [program, ...words] = [...(isRoot ? asPod : []), ...shell, '-c', line] as unknown as [
      string,
      ...string[],
    ];
    // Twice: the files of the first start are on the volume at the second (finding 1 of the review of operations).
    for (const start of [1, 2]) {
      const copied = spawnSync(program, words, { encoding: 'utf8' });
      assert.equal(copied.status, 0, `start ${start}: ${copied.stderr}`);
    }
    const text = readFileSync(join(copy, 'nats-server.conf'), 'utf8');
    assert.ok(!text.includes(feed) && text.includes(`"${copy}/jetstream"`), text);
    const [, configuration] = spec.template.spec.containers[0].args;
    const args = ['-t', '-c', configuration.replace('/feed/', `${copy}/`)];
    const checked = spawnSync('/usr/sbin/nats-server', args, { encoding: 'utf8' });
    assert.equal(checked.status, 0, checked.stderr);
  });
});
