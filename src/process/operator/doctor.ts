import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { freeOctets, systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import { readAttestationKeys } from '../../control/datasets/keys.ts';
import { ENCRYPTION_KEY } from '../../dns/dnssec/key-files.ts';
import { dsLines } from '../../dns/dnssec/key-set.ts';
import type { Config } from '../../ops/config/config.ts';
import { deriveKey, loadSecret } from '../../ops/config/data-dir.ts';
import { isOpenToAll } from '../../ops/config/feed-settings.ts';
import { neededNode } from '../../ops/config/version.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { openStore } from '../../store/open.ts';
import { lockDataDir } from '../../store/sqlite/server-lock.ts';
import { askResolver, dsSeenBy, resolversOf } from '../dns-client.ts';
import { checkPorts, portUses } from '../start-checks.ts';
import { fileZoneKeys, type ZoneKeys } from '../zone-keys/control-secrets.ts';
import { openZoneKeys } from '../zone-keys/open.ts';
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
  type Finding,
  note,
  ok,
  wrong,
} from './checks.ts';
import { checkBroker } from './feed-broker.ts';
import { checkTransparencyLog } from './log-check.ts';

/** Looks at everything that most often goes wrong, and changes nothing. */
export async function examine(config: Config, clock: Clock): Promise<readonly Finding[]> {
  const files = filesOf(config.dataDir);
  const resolvers = resolversOf(config.resolvers);
  return [
    checkNode(process.versions.node, neededNode()),
    checkExamples(config),
    checkDisk(freeOctets(config.dataDir)),
    checkClock(clock(), newestOf(files)),
    checkRights(
      [config.dataDir, ...files].filter((path) => ((systemFiles.facts(path)?.mode ?? 0) & 0o077) !== 0),
    ),
    ...(config.feed === null ? [] : [checkCredentials(config.feed.file, isOpenToAll(config.feed.file))]),
    await checkServer(config),
    await checkStore(config, clock),
    ...checkLogOf(config),
    ...(await checkBroker(config.feed, clock)),
    attempt('view', () => checkViewOf(config)),
    attempt('attestation keys', () => {
      const keys = readAttestationKeys(config.dataDir);
      const newest = keys.at(-1);
      if (newest === undefined) return note('attestation keys', 'none; uqrp dataset keygen makes one');
      return ok('attestation keys', `${keys.length}, the newest is ${newest.kid}`);
    }),
    ...(await checkTransparencyLog(config, clock)),
    attempt('certificate', () => checkCertificateOf(config, clock)),
    ...(await Promise.all(resolvers.map(checkResolver))),
    ...(await checkZones(config, resolvers, clock)),
  ];
}

/** The ports must be free, unless a server is running. */
export async function checkServer(config: Config): Promise<Finding> {
  if (systemFiles.facts(join(config.dataDir, 'serve.lock')) !== null) {
    const lock = lockDataDir(config.dataDir);
    if ('fault' in lock) return wrong('server', lock.fault);
    if (!('release' in lock)) return ok('server', `runs as process ${lock.pid ?? 'unknown'}`);
    lock.release();
  }
  try {
    await checkPorts(portUses(config));
    return note('server', 'does not run; its ports are free');
  } catch (error) {
    return wrong('server', (error as Error).message);
  }
}

/** A process without the embedded engine has none. */
function checkLogOf({ dataDir, databaseUrl }: Config): readonly Finding[] {
  const log = databaseUrl === null ? systemFiles.facts(join(dataDir, 'uqrp.sqlite-wal')) : null;
  return log === null ? [] : [checkWriteAheadLog(log.octets)];
}

/** What the running user can do with the files of the view; a process that serves no DNS has none. */
function checkViewOf({ dataDir, role }: Config): Finding {
  const view = join(dataDir, 'view');
  if (role === 'control') return note('view', 'a process with the role control has none');
  if (systemFiles.facts(join(view, 'state')) === null)
    return note('view', 'there is none yet: the server builds it at its start');
  const paths = [view, ...systemFiles.list(view).map((name) => join(view, name))];
  return checkView(
    paths.map((path) => ({ path, mode: systemFiles.facts(path)?.mode ?? 0, isUsable: isUsable(path) })),
  );
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function checkResolver(server: string): Promise<Finding> {
  const check = `resolver ${server}`;
  try {
    const reply = await askResolver(server, '.', RRTYPE.SOA, 'udp');
    return checkRootAnswer(check, reply.rcode);
  } catch (error) {
    return wrong(check, `does not answer: ${(error as Error).message}. Set UQRP_RESOLVERS to one that does.`);
  }
}

/** Of each zone whether the parent's DS records belong to the keys that this process or its database has. */
async function checkZones(
  config: Config,
  resolvers: readonly string[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const { zones, dnssec, role } = config;
  const all = (finding: (check: string) => Finding): Finding[] => zones.map((zone) => finding(`ds ${zone}`));
  if (dnssec === 'off') return all((check) => note(check, 'UQRP_DNSSEC is off'));
  if (role === 'edge')
    return all((check) =>
      note(check, 'control has the keys: uqrp doctor there compares them with the parent'),
    );
  try {
    return await withZoneKeys(config, clock, (keys) =>
      Promise.all(zones.map((zone) => checkZone(zone, keys, resolvers))),
    );
  } catch (error) {
    return all((check) => wrong(check, `the keys cannot be read: ${(error as Error).message}`));
  }
}

async function checkZone(zone: string, keys: ZoneKeys, resolvers: readonly string[]): Promise<Finding> {
  const found = await keys.find(zone);
  const own = found === null ? [] : dsLines(found).map((line) => line.split(' IN DS ')[1] ?? '');
  return checkDs(zone, own, await dsAtParent(zone, resolvers));
}

/** Of the first resolver that answers; null when none does. */
async function dsAtParent(zone: string, resolvers: readonly string[]): Promise<readonly string[] | null> {
  for (const resolver of resolvers) {
    const seen = await dsSeenBy(resolver, zone);
    if (seen !== null) return seen;
  }
  return null;
}

/** Keys in the data directory, or in PostgreSQL, where they are encrypted under the secret. Makes none. */
async function withZoneKeys<T>(
  { dataDir, databaseUrl, secret }: Config,
  clock: Clock,
  run: (keys: ZoneKeys) => Promise<T>,
): Promise<T> {
  if (databaseUrl === null) return run(fileZoneKeys(dataDir, clock));
  const key = deriveKey(loadSecret(dataDir, secret, false), ENCRYPTION_KEY.label, ENCRYPTION_KEY.octets);
  const store = await openStore({ dataDir, databaseUrl, clock, tables: 'look' });
  try {
    // Bounded: a database that does not answer ends the check after little more than a second.
    await store.ping();
    return await run(openZoneKeys({ dataDir, store, key, clock, mayMake: false }));
  } finally {
    await store.close();
  }
}

/** What DoT and DoH present; a process that serves no DNS has no certificate, and the first start makes one. */
function checkCertificateOf(config: Config, clock: Clock): Finding {
  if (config.role === 'control')
    return note('certificate', 'a process with the role control serves no DoT and DoH, and needs none');
  const { cert, key } = certificatePaths(config);
  if (config.tls === null && systemFiles.facts(cert) === null)
    return note('certificate', 'there is none yet: the server makes one at its start');
  return checkCertificate(systemFiles.read(cert).toString(), systemFiles.read(key).toString(), clock());
}

function certificatePaths({ tls, dataDir }: Config): { cert: string; key: string } {
  return tls ?? { cert: join(dataDir, 'tls', 'cert.pem'), key: join(dataDir, 'tls', 'key.pem') };
}

function filesOf(folder: string): string[] {
  return systemFiles.list(folder).flatMap((name) => {
    const path = join(folder, name);
    const kind = systemFiles.facts(path, 'link')?.kind;
    return kind === 'folder' ? filesOf(path) : kind === 'file' ? [path] : [];
  });
}

function newestOf(files: readonly string[]): number | null {
  return files.length === 0
    ? null
    : Math.max(...files.map((path) => systemFiles.facts(path)?.changedMs ?? 0));
}

function attempt(check: string, look: () => Finding): Finding {
  try {
    return look();
  } catch (error) {
    return wrong(check, (error as Error).message);
  }
}
