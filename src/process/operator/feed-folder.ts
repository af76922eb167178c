/** The folder of a feed: the files of its broker, its authority, its nodes, and what lets control and nodes in. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join, resolve } from 'node:path';
import { issueCertificate, makeAuthority } from '../../base/certificates.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { type Files, makeFolderSync, replaceFileSync, systemFiles } from '../../base/files.ts';
import { isEveryAddress } from '../../base/network/address.ts';
import type { Clock } from '../../base/time.ts';
import { makeNkey } from '../../feed/bus/nats/nkey.ts';
import { brokerConfig } from '../../feed/nodes/broker-config.ts';
import {
  type FeedNodes,
  nodesConfig,
  parseNodes,
  printNodes,
  withNode,
  withoutNode,
} from '../../feed/nodes/nodes.ts';
import {
  CONTROL_NAME,
  CredentialsError,
  isNodeName,
  parseCredentials,
  printCredentials,
} from '../../feed/ports/credentials.ts';
import { hostPort } from '../../ops/config/parsers.ts';

const FILES = {
  broker: 'nats-server.conf',
  /** Read by nats-server, made from `nodes`. */
  users: 'nodes.conf',
  nodes: 'nodes.json',
  control: 'control.creds',
  ca: 'ca.pem',
  caKey: 'ca.key',
  cert: 'server.pem',
  key: 'server.key',
} as const;
const PUBLIC = 0o644;
const SECRET = 0o600;
/** Held while a command changes the files. */
const LOCK = '.lock';
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

interface NewFeed {
  /** `address:port`, of the broker. */
  readonly listen: string;
  /** Names and addresses under which nodes reach it; none: that of `listen`. */
  readonly hosts: readonly string[];
}

/** Paths of what a new feed has; the caller tells them to the operator. */
interface FeedFolder {
  readonly dir: string;
  readonly config: string;
  readonly credentials: string;
  readonly authorityKey: string;
  /** Names of the files that the broker needs. */
  readonly forBroker: readonly string[];
}

/**
 * Makes a folder with all that a broker needs: its configuration, a private CA, and the credentials of control.
 * @throws UsageError for an address that is none; InputError for a folder that is not empty
 */
export async function makeFeedFolder(
  clock: Clock,
  folder: string,
  { listen: listenText, hosts }: NewFeed,
): Promise<FeedFolder> {
  const listen = hostPort(listenText);
  if (listen === null)
    throw new UsageError('--listen takes an IP address and a port, for example 127.0.0.1:4222');
  if (isEveryAddress(listen.host) && hosts.length === 0) {
    throw new UsageError(
      '--listen takes every address: give --host with the name or address under which nodes reach it',
    );
  }
  const dir = resolve(folder);
  makeFolderSync(dir, 0o777);
  if (systemFiles.list(dir).length > 0) {
    throw new InputError(
      `${dir} is not empty: a new feed needs a folder of its own, because it makes a new authority`,
    );
  }
  const reached = hosts.length > 0 ? hosts : [listen.host];
  const now = clock();
  const authority = makeAuthority(now);
  const names = [...new Set([...LOOPBACK, ...reached.filter((host) => !isEveryAddress(host))])];
  const broker = issueCertificate(authority, { subject: 'broker', use: ['server', 'client'], names, now });
  const client = issueCertificate(authority, { subject: CONTROL_NAME, use: ['client'], names: [], now });
  const signing = generateKeyPairSync('ed25519');
  const nkey = await makeNkey();
  const path = (name: string): string => join(dir, name);
  const write = (name: string, content: string, mode: number): void =>
    replaceFileSync(path(name), content, mode);
  write(FILES.ca, authority.cert, PUBLIC);
  write(FILES.caKey, authority.key, SECRET);
  write(FILES.cert, broker.cert, PUBLIC);
  write(FILES.key, broker.key, SECRET);
  writeNodes(dir, { version: 1, control: nkey.publicKey, nodes: [] }, systemFiles);
  const files = { ca: path(FILES.ca), cert: path(FILES.cert), key: path(FILES.key) };
  write(FILES.broker, brokerConfig({ listen: listenText, store: path('jetstream'), ...files }), PUBLIC);
  const credentials = printCredentials({
    version: 1,
    name: CONTROL_NAME,
    servers: reached.map((host) => `${host.includes(':') ? `[${host}]` : host}:${listen.port}`),
    ca: authority.cert,
    ...client,
    seed: nkey.seed,
    verify: [publicPem(signing.publicKey)],
    decrypt: null,
    sign: privatePem(signing.privateKey),
  });
  // Last: with it the folder is whole.
  write(FILES.control, credentials, SECRET);
  return {
    dir,
    config: path(FILES.broker),
    credentials: path(FILES.control),
    authorityKey: path(FILES.caKey),
    forBroker: [FILES.broker, FILES.users, FILES.ca, FILES.cert, FILES.key],
  };
}

/**
 * Adds a node, and writes its credentials into a new file where one is named. They are not kept here.
 * @returns the credentials
 */
export async function addFeedNode(
  clock: Clock,
  name: string,
  { feed, out }: { readonly feed: string; readonly out?: string },
  files: Files = systemFiles,
): Promise<string> {
  if (!isNodeName(name)) {
    throw new UsageError(
      `a node's name has 1 to 32 small letters, digits and hyphens, and is not "${CONTROL_NAME}"`,
    );
  }
  if (out !== undefined && files.facts(out) !== null)
    throw new InputError(`${out} exists: choose another file, or move it away`);
  const dir = resolve(feed);
  const control = readControl(dir, files);
  const authority = { cert: control.ca, key: read(dir, FILES.caKey, files) };
  const client = issueCertificate(authority, { subject: name, use: ['client'], names: [], now: clock() });
  const box = generateKeyPairSync('x25519');
  const nkey = await makeNkey();
  const credentials = printCredentials({
    version: 1,
    name,
    servers: control.servers,
    ca: control.ca,
    ...client,
    seed: nkey.seed,
    verify: control.verify,
    decrypt: privatePem(box.privateKey),
    sign: null,
  });
  // Before the node is added: its secrets are kept nowhere else.
  if (out !== undefined) writeNew(out, credentials, files);
  const add = (all: FeedNodes): FeedNodes => {
    const next = withNode(all, { name, nkey: nkey.publicKey, encrypt: publicPem(box.publicKey) });
    if (next === null)
      throw new InputError(
        `the feed has a node ${name}: choose another name, or run uqrp node remove ${name}`,
      );
    return next;
  };
  try {
    change(dir, add, files);
  } catch (error) {
    if (out !== undefined) files.remove(out);
    throw error;
  }
  return credentials;
}

function writeNew(path: string, text: string, files: Files): void {
  try {
    replaceFileSync(resolve(path), text, SECRET, files);
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new InputError(`${path} cannot be written (${code}): no node was added`);
  }
}

/** Writes what nats-server reads again, with the accounts of this release. @returns its path */
export function renewNodeConfig(feed: string): string {
  const dir = resolve(feed);
  change(dir, (all) => all, systemFiles);
  return join(dir, FILES.users);
}

/**
 * Takes a node out. nats-server ends its connection when it reads the file again.
 * @throws InputError where there is none; what nats-server reads has none either then
 */
export function removeFeedNode(name: string, feed: string, files: Files = systemFiles): void {
  let isThere = false;
  const remove = (all: FeedNodes): FeedNodes => {
    const next = withoutNode(all, name);
    isThere = next !== null;
    return next ?? all;
  };
  change(resolve(feed), remove, files);
  if (!isThere) throw new InputError(`the feed has no node ${name}`);
}

/** One command at a time: of two that read the same file, one would undo the other. */
function change(dir: string, next: (all: FeedNodes) => FeedNodes, files: Files): void {
  const lock = join(dir, LOCK);
  try {
    files.makeFolder(lock, 0o777);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new InputError(
      `another uqrp node command changes ${dir}: wait for it. If there is none, remove ${lock}`,
    );
  }
  try {
    const all = parseNodes(read(dir, FILES.nodes, files));
    if (all === null) throw new InputError(`${join(dir, FILES.nodes)} is damaged: restore it from a backup`);
    writeNodes(dir, next(all), files);
  } finally {
    files.remove(lock);
  }
}

function writeNodes(dir: string, all: FeedNodes, files: Files): void {
  replaceFileSync(join(dir, FILES.users), nodesConfig(all), PUBLIC, files);
  // Last: after a failure in between the list is as before, and the same command does all of it again.
  replaceFileSync(join(dir, FILES.nodes), printNodes(all), PUBLIC, files);
}

function readControl(dir: string, files: Files): ReturnType<typeof parseCredentials> {
  try {
    return parseCredentials(read(dir, FILES.control, files));
  } catch (error) {
    if (error instanceof CredentialsError)
      throw new InputError(`${join(dir, FILES.control)}: ${error.message}`);
    throw error;
  }
}

function read(dir: string, name: string, files: Files): string {
  try {
    return files.read(join(dir, name)).toString();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new InputError(
      `${join(dir, name)} cannot be read (${code}): run uqrp feed init first, or give its folder with --feed`,
    );
  }
}

function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
