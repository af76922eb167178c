import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Random, realRandom } from '../base/chance.ts';
import { isOutOfSpace } from '../base/files.ts';
import { type Backoff, backoffMs, createWaker } from '../base/lifecycle/loop.ts';
import { createReportLimits } from '../base/lifecycle/report-limits.ts';
import { realTimers, type Timers } from '../base/lifecycle/timers.ts';
import { aesGcmEncryption, type SecretEncryption } from '../base/seal.ts';
import type { Clock } from '../base/time.ts';
import { findPortFault, findPortHolder, type PortFault, type PortUse } from '../dns/port-check.ts';
import { type Config, StartError } from '../ops/config/config.ts';
import { deriveKey, type Secret, secretFingerprint } from '../ops/config/data-dir.ts';
import type { TablesUse } from '../store/migrations/migrate.ts';
import { lockDataDir, type ServerLock } from '../store/sqlite/server-lock.ts';
import type { Store } from '../store/store.ts';

/** Encrypts signing secrets of webhooks under a key derived from the server's secret, used for nothing else. */
export function webhookSecretEncryption(secret: Secret, random: Random = realRandom): SecretEncryption {
  return aesGcmEncryption(deriveKey(secret, 'webhook-signing-secret', 32), random);
}

// Checks before a start: the data directory, its lock, the ports. Each fault says what to do.

/** @throws StartError when another server uses the directory, or its lock file cannot be used */
export function takeServerLock(dataDir: string): ServerLock {
  const lock = lockDataDir(dataDir);
  if ('release' in lock) return lock;
  if ('fault' in lock) throw new StartError(`UQRP_DATA_DIR ${dataDir}: ${lock.fault}`);
  const holder = lock.pid === null ? 'another process' : `process ${lock.pid}`;
  throw new StartError(
    `UQRP_DATA_DIR ${dataDir} is in use by ${holder}, which holds ${join(dataDir, 'serve.lock')}. Stop it, or choose another directory.`,
  );
}

/**
 * Opens the store and compares its secret.
 * @param tables as of `openStore`
 * @throws StartError when the database is unusable or has another secret
 */
export async function openCheckedStore(
  config: StoreSettings,
  secret: Secret,
  clock: Clock,
  tables: TablesUse = 'upgrade',
): Promise<Store> {
  const { dataDir, databaseUrl } = config;
  // Not loaded in an edge node, which has no store.
  const [{ openStore }, { isSecretOfStore }] = await Promise.all([
    import('../store/open.ts'),
    import('../store/service-facts.ts'),
  ]);
  const store = await openStore({ dataDir, databaseUrl, clock, tables }).catch((error: unknown) => {
    throw storeFault(error, config) ?? error;
  });
  const encryption = webhookSecretEncryption(secret);
  const decrypts = (webhookId: string, encrypted: Uint8Array): boolean => {
    try {
      encryption.decrypt(webhookId, encrypted);
      return true;
    } catch {
      return false;
    }
  };
  if (await isSecretOfStore(store, secretFingerprint(secret), decrypts)) return store;
  await store.close();
  throw new StartError(
    'UQRP_SECRET, or the file secret in UQRP_DATA_DIR, is not the secret that this database was made with: ' +
      'no token and no webhook would work. Set UQRP_SECRET to the earlier one; or put back the file secret, which counts while UQRP_SECRET is not set.',
  );
}

interface WaitOptions {
  readonly clock: Clock;
  /** Ends the wait. */
  readonly cancel: AbortSignal;
  /** Called at the first failure, then ever more rarely. */
  readonly onWaiting: (error: unknown) => void;
  readonly timers?: Timers | undefined;
}

/** The longest pause is short enough that nobody waits for it after the database has come. */
const WAIT: Backoff = { firstMs: 500, capMs: 10_000 };

/**
 * As `openCheckedStore`, for a server: it waits for a database that is not there yet, as PostgreSQL after a power cut. A start that ended
 * instead would be given up by its supervisor. A fault that waiting does not mend ends the start as before.
 */
export async function openStoreOnceThere(
  config: StoreSettings,
  secret: Secret,
  { clock, cancel, onWaiting, timers = realTimers }: WaitOptions,
): Promise<Store> {
  const waker = createWaker(cancel, timers);
  const isDue = createReportLimits<'waiting'>(clock);
  for (let failures = 1; ; failures++) {
    try {
      return await openCheckedStore(config, secret, clock);
    } catch (error) {
      cancel.throwIfAborted();
      if (config.databaseUrl === null || !isAbsent(error)) throw error;
      if (isDue('waiting')) onWaiting(error);
    }
    await waker.sleep(backoffMs(failures, WAIT));
    cancel.throwIfAborted();
  }
}

/** Of the way to the server, and SQLSTATE of one that is set to read only, starts, stops or has no connection left (PostgreSQL's manual, appendix A). */
const COMES_BACK: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  '25006',
  '53300',
  '57P01',
  '57P02',
  '57P03',
]);
/** `pg` gives these no code: no answer within its limit, or a connection that ended before one. */
const NO_ANSWER = /^timeout e|^Connection terminated|^Query read timeout/;

/** Whether a later try may reach the database: not with a wrong password, an unknown name of a host, or another secret. */
function isAbsent(error: unknown): boolean {
  const cause = error instanceof StartError ? error.cause : error;
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
  return COMES_BACK.has(code) || NO_ANSWER.test(String(message));
}

type StoreSettings = Pick<Config, 'dataDir' | 'databaseUrl'>;

/** Primary result codes of SQLite (sqlite.org/rescode.html), and what an operator can do. */
const SQLITE_ADVICE: Readonly<Record<number, string>> = {
  11: 'is damaged. Restore a backup.',
  10: 'cannot be read or written. Look at its disk: it may be full or failing.',
  13: 'cannot be written: the disk is full. Make room.',
  14: 'cannot be opened. Let this user read and write it, and raise the limit of open files (ulimit -n) if it is below 1024.',
  26: 'is not a database. Restore a backup.',
};

/** Null for a fault that an operator cannot fix. */
export function storeFault(error: unknown, { dataDir, databaseUrl }: StoreSettings): StartError | null {
  const { errcode, code, message } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  const where = databaseUrl === null ? `The database ${join(dataDir, 'uqrp.sqlite')}` : 'UQRP_DATABASE_URL';
  // By its name: an edge loads no migrations.
  if ((error as Error).name === 'OtherSchemaError')
    return new StartError(`${where}: ${message}`, { cause: error });
  if (databaseUrl !== null) {
    return typeof code === 'string' || NO_ANSWER.test(message)
      ? new StartError(`${where}: ${message || code}`, { cause: error })
      : null;
  }
  const advice = typeof errcode === 'number' ? SQLITE_ADVICE[errcode & 0xff] : undefined;
  return advice === undefined ? null : new StartError(`${where} ${advice}`, { cause: error });
}

/** What a full disk below the data directory says, whichever file met it; null for other errors. */
export function diskFault(error: unknown, dataDir: string): StartError | null {
  if (!isOutOfSpace(error) || error instanceof StartError) return null;
  const { path } = error as { readonly path?: unknown };
  const what = typeof path === 'string' ? ` for ${path}` : '';
  return new StartError(
    `UQRP_DATA_DIR ${dataDir}: the disk is full, there is no room${what}. Make room, or choose another directory.`,
    { cause: error },
  );
}

/** Open files of an idle server: of the process, and of each worker. Connections add to it. */
const FILES_AT_REST = { process: 40, worker: 8 };

/** @throws StartError when the process's file limit is below what it needs when idle */
export function checkOpenFiles(workers: number): void {
  const needed = FILES_AT_REST.process + FILES_AT_REST.worker * workers;
  const limit = openFilesLimit();
  if (limit === null || limit >= needed) return;
  throw new StartError(
    `This process may open ${limit} files, and ${workers} workers need ${needed} without any connection. ` +
      'Raise the limit (ulimit -n, LimitNOFILE of systemd) to 1024 or more, or lower UQRP_WORKERS.',
  );
}

function openFilesLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Every port that a process of this role listens on. */
export function portUses(config: Config): PortUse[] {
  const { host, httpHost, httpPort, dnsPort, dotPort, dohPort, metrics, role } = config;
  const uses: PortUse[] = [{ variable: 'UQRP_HTTP_PORT', host: httpHost, port: httpPort, protocol: 'tcp' }];
  if (metrics !== null) uses.push({ variable: 'UQRP_METRICS', ...metrics, protocol: 'tcp' });
  if (role === 'control') return uses;
  return [
    ...uses,
    { variable: 'UQRP_DNS_PORT', host, port: dnsPort, protocol: 'udp' },
    { variable: 'UQRP_DNS_PORT', host, port: dnsPort, protocol: 'tcp' },
    { variable: 'UQRP_DOT_PORT', host, port: dotPort, protocol: 'tcp' },
    { variable: 'UQRP_DOH_PORT', host, port: dohPort, protocol: 'tcp' },
  ];
}

/** @throws StartError for the first port that cannot be opened */
export async function checkPorts(uses: readonly PortUse[]): Promise<void> {
  const fault = await findPortFault(uses);
  if (fault === null) return;
  const { protocol, port } = fault.use;
  const pid = fault.code === 'EADDRINUSE' ? findPortHolder(protocol, port) : null;
  throw new StartError(portFaultText(fault, pid));
}

/** @param pid of the process that uses the port, or null when it is unknown */
export function portFaultText({ use, code }: PortFault, pid: number | null): string {
  const { variable, host, port, protocol } = use;
  const what = `${variable} ${port}/${protocol}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${what} is in use by ${pid === null ? 'another process' : `process ${pid}`}. Stop it, or set ${variable} to another port.`;
    case 'EACCES':
      return `${what} may not be opened by this user. Ports below 1024 need the capability CAP_NET_BIND_SERVICE, or choose another port.`;
    case 'EADDRNOTAVAIL':
      return `${what}: this machine has no address ${host}. Set UQRP_HOST, UQRP_HTTP_HOST or UQRP_METRICS to one that it has.`;
    case 'EMFILE':
      return `${what} could not be opened: EMFILE, this process may open no more files. Raise the limit (ulimit -n) to 1024 or more.`;
    default:
      return `${what} could not be opened: ${code}.`;
  }
}
