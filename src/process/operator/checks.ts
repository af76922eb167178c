import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import { type Config, StartError } from '../../ops/config/config.ts';
import { loadSecret, secretFingerprint } from '../../ops/config/data-dir.ts';
import { RCODE, rcodeName } from '../../protocol/dns/codes.ts';
import {
  earlierSchemaText,
  LATEST_MIGRATION,
  laterSchemaText,
  schemaOf,
} from '../../store/migrations/migrate.ts';
import { openStore } from '../../store/open.ts';
import { readFact } from '../../store/service-facts.ts';
import { checkSqlite } from '../../store/sqlite/backup.ts';
import { storeFault } from '../start-checks.ts';

/** RFC 2606, and for addresses RFC 5737 and RFC 3849. */
const EXAMPLE_DOMAIN = /(?:^|\.)example(?:\.(?:com|net|org))?$/;
const EXAMPLE_ADDRESS = /^(?:192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/;

/** What one check found. `note`: nothing is wrong, or this machine cannot check it. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'note' | 'wrong';
  /** What was found; where it is wrong, what to do. */
  readonly text: string;
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text });
export const note = (check: string, text: string): Finding => ({ check, state: 'note', text });
export const wrong = (check: string, text: string): Finding => ({ check, state: 'wrong', text });

// Checks of the machine: Node, disk, clock, rights of the data directory. Facts come in, findings go out.

/** @param needed of package.json: `^22.20.0 || >=24.11.0` */
export function checkNode(version: string, needed: string): Finding {
  return needed.split(' || ').some((part) => isWithin(version, part))
    ? ok('node', `Node ${version}`)
    : wrong('node', `Node ${version} is not one of ${needed}. Install another.`);
}

/** @param part `^22.20.0`: that or later with the same major version; `>=24.11.0`: that or later */
function isWithin(version: string, part: string): boolean {
  const least = part.replace(/^\D+/, '');
  const sameMajor = Number.parseInt(version, 10) === Number.parseInt(least, 10);
  return compare(version, least) >= 0 && (sameMajor || !part.startsWith('^'));
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  const at = [0, 1, 2].find((i) => left?.[i] !== right?.[i]);
  return at === undefined ? 0 : (left?.[at] ?? 0) - (right?.[at] ?? 0);
}

/** Settings that came with the package and were not changed. */
export function checkExamples({
  zones,
  nameServers,
  host,
}: Pick<Config, 'zones' | 'nameServers' | 'host'>): Finding {
  const zone = zones.find((name) => EXAMPLE_DOMAIN.test(name));
  if (zone !== undefined)
    return wrong('settings', `UQRP_ZONES has ${zone}, a name for examples. Put in a zone of yours.`);
  const address = nameServers.flatMap(({ addresses }) => addresses).find((one) => EXAMPLE_ADDRESS.test(one));
  if (address === undefined) return ok('settings', 'no zone or address of examples');
  const text = `UQRP_NS has ${address}, an address for examples. Put in those of your name servers.`;
  // Without the network nobody follows these addresses.
  return host === '127.0.0.1' || host === '::1' ? note('settings', text) : wrong('settings', text);
}

const MEGABYTE = 1_048_576;
/** Below the first a day of writes may fill the disk; below the second the next one may. */
const DISK_NOTE_MB = 1024;
const DISK_WRONG_MB = 100;

export function checkDisk(freeBytes: number): Finding {
  const free = Math.floor(freeBytes / MEGABYTE);
  const text = `${free} MB free for the data directory`;
  if (free < DISK_WRONG_MB) return wrong('disk', `${text}. Make room: writes fail on a full disk.`);
  return free < DISK_NOTE_MB ? note('disk', text) : ok('disk', text);
}

/** The server empties it every four seconds: more than this is in it while somebody reads without an end. */
const LOG_NOTE_MB = 64;

/** @param octets of the write-ahead log of SQLite, which keeps deleted data until it is emptied */
export function checkWriteAheadLog(octets: number): Finding {
  const text = `uqrp.sqlite-wal has ${Math.floor(octets / MEGABYTE)} MB`;
  return octets < LOG_NOTE_MB * MEGABYTE
    ? ok('write-ahead log', text)
    : note(
        'write-ahead log',
        `${text}, deleted data among them. While the server runs that means that another process reads the database without an end: end it.`,
      );
}

/** A file cannot be newer than now, but for a small step of the clock. */
const CLOCK_TOLERANCE_MS = 60_000;

/** @param newestFile modification time of the newest file of the data directory, milliseconds; null without files */
export function checkClock(now: number, newestFile: number | null): Finding {
  const ahead = newestFile === null ? 0 : newestFile - now;
  if (ahead > CLOCK_TOLERANCE_MS) {
    const seconds = Math.round(ahead / 1000);
    return wrong(
      'clock',
      `the clock is ${seconds} s behind the newest file of the data directory. Set it, and run NTP.`,
    );
  }
  return ok('clock', new Date(now).toISOString());
}

/** @param open paths of the data directory that other users may read or write */
export function checkRights(open: readonly string[]): Finding {
  return open.length === 0
    ? ok('rights', 'the data directory is for its user alone')
    : wrong('rights', `other users can reach ${open.join(', ')}. The next start of the server closes them.`);
}

/** A group may read it: Kubernetes gives secrets to the group of a pod. */
export function checkCredentials(file: string, isOpen: boolean): Finding {
  return !isOpen
    ? ok('credentials', `other users cannot read ${file}`)
    : wrong(
        'credentials',
        `every user of this machine can read ${file}, and be this end of the feed: chmod 600 it. If somebody may have read it, remove the node and add it again.`,
      );
}

interface ViewFile {
  readonly path: string;
  readonly mode: number;
  /** Whether this user may read and write it. */
  readonly isUsable: boolean;
}

/** @param files the directory of the view and the files in it */
export function checkView(files: readonly ViewFile[]): Finding {
  const locked = files.filter(({ isUsable }) => !isUsable).map(({ path }) => path);
  if (locked.length > 0) {
    return wrong(
      'view',
      `this user cannot read and write ${locked.join(', ')}. Run doctor as the server's user, or give it the rights.`,
    );
  }
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path);
  return open.length > 0
    ? wrong('view', `other users can reach ${open.join(', ')}. The next start of the server closes them.`)
    : ok('view', `${files.length - 1} files, for their user alone`);
}

// Checks of the database, with the engine that the configuration names.

type StoreConfig = Pick<Config, 'role' | 'dataDir' | 'databaseUrl' | 'secret'>;

interface StoreFacts {
  readonly schema: string;
  readonly fingerprint: string | null;
}

/** Any of these, and the database is lost, not new. */
const LEFT_BY_SERVER = ['uqrp.sqlite', 'secret', 'view', 'keys'];

/** Reads and never migrates. */
export async function checkStore(config: StoreConfig, clock: Clock): Promise<Finding> {
  const { role, dataDir, databaseUrl, secret } = config;
  if (role === 'edge') return note('database', 'a process with the role edge has none');
  if (databaseUrl === null && LEFT_BY_SERVER.every((name) => systemFiles.facts(join(dataDir, name)) === null))
    return note('database', `there is none yet in ${dataDir}: the first start of the server makes it`);
  try {
    const facts = databaseUrl === null ? sqliteFacts(dataDir) : await postgresFacts(config, clock);
    return storeFinding(facts, LATEST_MIGRATION, secretFingerprint(loadSecret(dataDir, secret, false)));
  } catch (error) {
    return wrong('database', storeFaultText(error as NodeJS.ErrnoException, config));
  }
}

/** What a start would say, and for PostgreSQL what to look at. */
function storeFaultText(error: NodeJS.ErrnoException, config: StoreConfig): string {
  const { databaseUrl } = config;
  const what = storeFault(error, config)?.message ?? (error.message || error.code || 'it does not answer');
  if (databaseUrl === null || error instanceof StartError) return what;
  const named = what.startsWith('UQRP_DATABASE_URL') ? what : `UQRP_DATABASE_URL: ${what}`;
  return `${named}. See that PostgreSQL runs, and that host, port, user, password and database are right.`;
}

function sqliteFacts(dataDir: string): StoreFacts {
  const file = join(dataDir, 'uqrp.sqlite');
  if (systemFiles.facts(file) === null) {
    throw new StartError(
      `there is no ${file}. Restore a backup, or set UQRP_DATABASE_URL as for the server. In a new directory the first start makes it.`,
    );
  }
  const { migrations, fingerprint } = checkSqlite(file);
  return { schema: migrations.at(-1) ?? 'none', fingerprint };
}

async function postgresFacts({ dataDir, databaseUrl }: StoreConfig, clock: Clock): Promise<StoreFacts> {
  const store = await openStore({ dataDir, databaseUrl, clock, tables: 'look' });
  try {
    // Bounded: a server that does not answer ends the check after little more than a second.
    await store.ping();
    const schema = await schemaOf(store.read);
    // Databases of earlier schemas have no table of facts.
    const fingerprint = schema >= '0003' ? await readFact(store.read, 'secret_fingerprint') : null;
    return { schema, fingerprint };
  } finally {
    await store.close();
  }
}

/** @param latest schema that this program brings */
export function storeFinding({ schema, fingerprint }: StoreFacts, latest: string, own: string): Finding {
  if (schema > latest && schema !== 'none') {
    return wrong('database', laterSchemaText(schema, latest));
  }
  if (fingerprint !== null && fingerprint !== own) {
    return wrong(
      'database',
      'it was made with another secret. Set UQRP_SECRET to that one; or put back the file secret, which counts while UQRP_SECRET is not set.',
    );
  }
  if (schema !== latest) {
    return wrong('database', earlierSchemaText(schema, latest));
  }
  return ok('database', `answers, schema ${schema}, secret fits`);
}

// Checks of what the world sees: certificate, DS records at the parent.

const DAY_MS = 86_400_000;
const WARN_DAYS = 14;

/**
 * @param pem certificate, or a chain that begins with it
 * @param keyPem its private key
 * @param now milliseconds since the epoch
 */
export function checkCertificate(pem: string, keyPem: string, now: number): Finding {
  const certificate = orNull(() => new X509Certificate(pem));
  const key = orNull(() => createPrivateKey(keyPem));
  if (certificate === null || key === null) {
    const [what, variable] = certificate === null ? ['certificate', 'CERT'] : ['private key', 'KEY'];
    return wrong(
      'certificate',
      `the file of the ${what} (UQRP_TLS_${variable}) is empty or not PEM. Replace it and send SIGHUP.`,
    );
  }
  if (!certificate.checkPrivateKey(key)) {
    return wrong(
      'certificate',
      'the private key is not the key of the certificate. Replace one of the two files.',
    );
  }
  const days = Math.floor((certificate.validToDate.getTime() - now) / DAY_MS);
  const names = certificate.subjectAltName ?? 'no names';
  if (certificate.validFromDate.getTime() > now) {
    return wrong('certificate', `not valid before ${certificate.validFrom}: look at the clock`);
  }
  if (days < 0) return wrong('certificate', `ended ${-days} days ago. Replace it and send SIGHUP. ${names}`);
  return (days < WARN_DAYS ? note : ok)('certificate', `valid for ${days} days, ${names}`);
}

function orNull<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

/** @param rcode with which a resolver answered a question for the root, which always exists */
export function checkRootAnswer(check: string, rcode: number): Finding {
  if (rcode === RCODE.NOERROR) return ok(check, 'answers');
  return wrong(
    check,
    `answers a question for the root with ${rcodeName(rcode)}. Set UQRP_RESOLVERS to one that resolves names of the Internet.`,
  );
}

/**
 * @param own DS records of our keys, in presentation form without the owner: `12345 13 2 0A1B...`; none where there are no keys
 * @param parent those that a resolver gave; null when none could be asked
 */
export function checkDs(zone: string, own: readonly string[], parent: readonly string[] | null): Finding {
  const check = `ds ${zone}`;
  if (own.length === 0) {
    return parent === null || parent.length === 0
      ? note(check, 'there are no keys yet: the server makes them at its start')
      : wrong(
          check,
          'the parent has DS records, and there are no keys here. Put them back from a backup before a start: new keys do not fit those records.',
        );
  }
  if (parent === null) return note(check, 'no resolver could be asked for the DS records');
  if (parent.length === 0)
    return note(check, 'the parent has no DS record: answers are signed, and nobody validates them');
  const folded = parent.map((text) => text.toUpperCase());
  const shared = own.filter((text) => folded.includes(text.toUpperCase()));
  return shared.length > 0
    ? ok(check, `${shared.length} of ${parent.length} DS records at the parent belong to our keys`)
    : wrong(
        check,
        'no DS record at the parent belongs to our keys: validating resolvers refuse this zone. Compare uqrp dnssec ds.',
      );
}
