import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { askResolver, dsSeenBy, resolversOf } from '../../client/resolvers.ts';
import type { Config } from '../../config/config.ts';
import { neededNode } from '../../config/version.ts';
import { readAttestationKeys } from '../../control/datasets/keys/key-files.ts';
import { lockDataDir } from '../../control/store/sqlite/server-lock.ts';
import type { Clock } from '../../core/clock.ts';
import { dsLines } from '../../edge/dnssec/keys/ds.ts';
import { keyFile, loadKeys } from '../../edge/dnssec/keys/key-files.ts';
import { RRTYPE } from '../../edge/wire/codes.ts';
import { checkPorts, portUses } from '../../start-checks.ts';
import { configWithData } from '../context.ts';
import { EXIT, print, table } from '../output.ts';
import { checkBroker } from './feed-broker.ts';
import { type Finding, note, ok, wrong } from './finding.ts';
import { checkClock, checkCredentials, checkDisk, checkNode, checkRights, checkView } from './machine.ts';
import { checkStore } from './store.ts';
import { checkCertificate, checkDs } from './zone.ts';

/** Looks at everything that most often goes wrong, changes nothing, and ends with 1 when something is wrong. */
export async function doctor(clock: Clock, json: boolean): Promise<void> {
  const config = configWithData();
  const files = filesOf(config.dataDir);
  const resolvers = resolversOf(config.resolvers);
  const findings = [
    checkNode(process.versions.node, neededNode()),
    checkDisk(freeBytes(config.dataDir)),
    checkClock(clock(), newestOf(files)),
    checkRights([config.dataDir, ...files].filter((path) => (statSync(path).mode & 0o077) !== 0)),
    ...(config.feed === null ? [] : [checkCredentials(config.feed.file, statSync(config.feed.file).mode)]),
    await checkServer(config),
    await checkStore(config, clock),
    ...(await checkBroker(config.feed, clock)),
    attempt('view', () => checkViewOf(config)),
    attempt('attestation keys', () => {
      const keys = readAttestationKeys(config.dataDir);
      const newest = keys.at(-1);
      if (newest === undefined) return note('attestation keys', 'none; uqrp dataset keygen makes one');
      return ok('attestation keys', `${keys.length}, the newest is ${newest.kid}`);
    }),
    attempt('certificate', () => {
      const { cert, key } = certificatePaths(config);
      return checkCertificate(readFileSync(cert, 'utf8'), readFileSync(key, 'utf8'), clock());
    }),
    ...(await Promise.all(resolvers.map(checkResolver))),
    ...(await Promise.all(config.zones.map((zone) => checkZone(config, zone, resolvers, clock)))),
  ];
  if (json) print(JSON.stringify(findings));
  else
    print(
      table([['CHECK', 'STATE', 'FOUND'], ...findings.map(({ check, state, text }) => [check, state, text])]),
    );
  if (findings.some(({ state }) => state === 'wrong')) process.exitCode = EXIT.failed;
}

/** The ports must be free, unless a server is running. */
async function checkServer(config: Config): Promise<Finding> {
  if (existsSync(join(config.dataDir, 'serve.lock'))) {
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

/** What the running user can do with the files of the view; a process that serves no DNS has none. */
function checkViewOf({ dataDir, role }: Config): Finding {
  const view = join(dataDir, 'view');
  if (role === 'control') return note('view', 'a process with the role control has none');
  if (!existsSync(join(view, 'state')))
    return note('view', 'there is none yet: the server builds it at its start');
  const paths = [view, ...readdirSync(view).map((name) => join(view, name))];
  return checkView(paths.map((path) => ({ path, mode: statSync(path).mode, isUsable: isUsable(path) })));
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
    return reply.rcode === 0 ? ok(check, 'answers') : wrong(check, `answers with rcode ${reply.rcode}`);
  } catch (error) {
    return wrong(check, `does not answer: ${(error as Error).message}. Set UQRP_RESOLVERS to one that does.`);
  }
}

async function checkZone(
  config: Config,
  zone: string,
  resolvers: readonly string[],
  clock: Clock,
): Promise<Finding> {
  if (config.dnssec === 'off') return note(`ds ${zone}`, 'UQRP_DNSSEC is off');
  if (!existsSync(keyFile(config.dataDir, zone)))
    return note(`ds ${zone}`, 'there are no keys in the data directory');
  const own = dsLines(loadKeys(config.dataDir, zone, clock)).map((line) => line.split(' IN DS ')[1] ?? '');
  const [resolver] = resolvers;
  const parent = resolver === undefined ? null : await dsSeenBy(resolver, zone);
  return checkDs(zone, own, parent);
}

function certificatePaths({ tls, dataDir }: Config): { cert: string; key: string } {
  return tls ?? { cert: join(dataDir, 'tls', 'cert.pem'), key: join(dataDir, 'tls', 'key.pem') };
}

function filesOf(dataDir: string): string[] {
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function newestOf(files: readonly string[]): number | null {
  return files.length === 0 ? null : Math.max(...files.map((path) => statSync(path).mtimeMs));
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

function attempt(check: string, look: () => Finding): Finding {
  try {
    return look();
  } catch (error) {
    return wrong(check, (error as Error).message);
  }
}
