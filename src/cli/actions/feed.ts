/** `feed erase`, `feed snapshot` and `feed epoch new`: what a control process does with the feed. */

import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueCertificate, makeAuthority } from '../../base/certificates.ts';
import { replaceFileSync } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import { makeNkey } from '../../feed/bus/nats/nkey.ts';
import { brokerConfig } from '../../feed/nodes/broker-config.ts';
import type { NodeReport } from '../../feed/nodes/node-states.ts';
import {
  type FeedNodes,
  nodesConfig,
  parseNodes,
  printNodes,
  withNode,
  withoutNode,
} from '../../feed/nodes/nodes.ts';
import {
  askFeed,
  askForEpoch,
  askNodes,
  askToErase,
  demandSnapshot,
  type FeedStatus,
} from '../../feed/nodes/operator.ts';
import {
  CONTROL_NAME,
  CredentialsError,
  isNodeName,
  parseCredentials,
  printCredentials,
} from '../../feed/ports/credentials.ts';
import { hostPort } from '../../ops/config/parsers.ts';
import { controlSettings, type FeedOption, withControl } from '../control-connection.ts';
import { EXIT, escapeControls, InputError, print, table, UsageError } from '../output.ts';

/** Another control process, which may be the one that makes snapshots, uses the new key within two seconds. */
const NEW_KEY_MS = 3_000;

export async function feedErase(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async (rpc) => {
    await askToErase(rpc);
    if (!json)
      print('keys, stream and snapshots are erased: nothing that was sent before can be read any more');
    await sleep(NEW_KEY_MS);
    const seq = await demandSnapshot(rpc);
    print(
      json ? JSON.stringify({ erased: true, snapshot: seq }) : `a new snapshot is made, at change ${seq}`,
    );
  });
}

/** Prints the number of the last change that the new snapshot has. */
export async function feedSnapshot(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async (rpc) => {
    const seq = await demandSnapshot(rpc);
    print(json ? JSON.stringify({ seq }) : `a snapshot with every change up to ${seq} is at the broker`);
  });
}

export async function feedEpochNew(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async (rpc) => {
    const epoch = await askForEpoch(rpc);
    print(
      json
        ? JSON.stringify({ epoch })
        : `the database has epoch ${epoch}: every node builds its view again from it, and serves the old one meanwhile`,
    );
  });
}

// `uqrp node status` and `uqrp feed status`: asks a control process over the broker, with control's credentials.

/** Prints a row for each node; exit code 1 when one is late, or answers from a view that it cannot bring up to date. */
export async function nodeStatus(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  const nodes = await withControl(controlSettings(options), clock, askNodes);
  if (json) print(JSON.stringify({ nodes: nodes.map(nodeJson) }));
  else if (nodes.length === 0) print('the feed has no nodes: uqrp node add makes one');
  else print(table([NODE_HEAD, ...nodes.map(nodeRow)]));
  if (nodes.some((node) => node.late || isBehind(node))) process.exitCode = EXIT.failed;
}

/** Prints how log, stream, publisher and snapshots stand. */
export async function feedStatus(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  const status = await withControl(controlSettings(options), clock, askFeed);
  print(json ? JSON.stringify(feedJson(status)) : table(feedRows(status)));
}

/** Not a node that was started just now and is stale for a moment: changes are missing, and nothing proves that they come. */
export function isBehind({ state }: Pick<NodeReport, 'state'>): boolean {
  return state?.stale === true && state.lag.changes > 0;
}

function nodeJson({ name, state, seconds, late }: NodeReport): object {
  const { lag = null } = state ?? {};
  return {
    name,
    seq: state?.seq ?? null,
    lag: lag && { changes: lag.changes, seconds: lag.seconds },
    heartbeat_seconds: heartbeatOf(state, seconds, late),
    version: state?.version ?? null,
    key_tags: [...new Set(Object.values(state?.keyTags ?? {}).flat())].sort((a, b) => a - b),
    stale: state === null || late || state.stale,
    late,
    state_seconds: seconds,
    epoch: state?.epoch ?? null,
    view_seconds: state?.viewSeconds ?? null,
    spool_octets: state?.spoolOctets ?? null,
  };
}

/** As the node told it; of a late node with the time since then. */
function heartbeatOf(state: NodeReport['state'], seconds: number, late: boolean): number | null {
  const heard = state?.heartbeatSeconds ?? null;
  return heard === null ? null : heard + (late ? seconds : 0);
}

const NODE_HEAD = ['NODE', 'SEQ', 'LAG', 'HEARTBEAT', 'VERSION', 'KEY TAGS', 'STATE'];

function nodeRow({ name, state, seconds, late }: NodeReport): string[] {
  const silence = `late: no state for ${Math.floor(seconds)} s`;
  if (state === null) return [name, '-', '-', '-', '-', '-', late ? silence : 'not heard of yet'];
  const { seq, lag, version, keyTags, stale } = state;
  const heard = heartbeatOf(state, seconds, late);
  const tags = Object.entries(keyTags).map(([zone, list]) => `${escapeControls(zone)} ${list.join(',')}`);
  return [
    name,
    `${seq}`,
    `${lag.changes} changes, ${lag.seconds.toFixed(1)} s`,
    heard === null ? 'none' : `${heard.toFixed(1)} s ago`,
    version,
    tags.length === 0 ? '-' : tags.join(' '),
    late ? silence : stale ? 'stale' : 'current',
  ];
}

function feedJson({ log, publisher, stream, snapshots, nodes, late }: FeedStatus): object {
  return { log, publisher, stream, snapshots, nodes, nodes_late: late };
}

function feedRows({ log, publisher, stream, snapshots, nodes, late }: FeedStatus): string[][] {
  const published =
    publisher === null
      ? 'no process publishes'
      : `up to ${publisher.seq}, ${publisher.unconfirmed} batches not confirmed, ${publisher.conflicts} conflicts`;
  return [
    ['log', `changes ${log.oldest} to ${log.head}, epoch ${log.epoch}`],
    ['published', published],
    ['stream', stream === null ? 'empty, or it cannot be read' : `changes ${stream.from} to ${stream.to}`],
    ...(snapshots.length === 0 ? [['snapshots', 'none']] : []),
    ...snapshots.map(({ id, seq, seconds }) => ['snapshot', `${id} at ${seq}, ${Math.floor(seconds)} s old`]),
    ['nodes', `${nodes}, ${late.length === 0 ? 'none' : late.join(', ')} late`],
  ];
}

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
const EVERY_ADDRESS = new Set(['0.0.0.0', '::']);

export interface FeedInitOptions {
  readonly listen: string;
  /** Names and addresses under which nodes reach the broker. */
  readonly host?: readonly string[];
}

/** Makes a folder with all that a broker needs: its configuration, a private CA, and the credentials of control. */
export async function feedInit(
  clock: Clock,
  folder: string,
  options: FeedInitOptions,
  json: boolean,
): Promise<void> {
  const listen = hostPort(options.listen);
  if (listen === null)
    throw new UsageError('--listen takes an IP address and a port, for example 127.0.0.1:4222');
  const hosts = options.host ?? [];
  if (EVERY_ADDRESS.has(listen.host) && hosts.length === 0) {
    throw new UsageError(
      '--listen takes every address: give --host with the name or address under which nodes reach it',
    );
  }
  const dir = resolve(folder);
  mkdirSync(dir, { recursive: true });
  if (readdirSync(dir).length > 0) {
    throw new InputError(
      `${dir} is not empty: a new feed needs a folder of its own, because it makes a new authority`,
    );
  }
  const reached = hosts.length > 0 ? hosts : [listen.host];
  const now = clock();
  const authority = makeAuthority(now);
  const names = [...new Set([...LOOPBACK, ...reached.filter((host) => !EVERY_ADDRESS.has(host))])];
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
  writeNodes(dir, { version: 1, control: nkey.publicKey, nodes: [] });
  const files = { ca: path(FILES.ca), cert: path(FILES.cert), key: path(FILES.key) };
  write(FILES.broker, brokerConfig({ listen: options.listen, store: path('jetstream'), ...files }), PUBLIC);
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
  if (json) print(JSON.stringify({ dir, config: path(FILES.broker), credentials: path(FILES.control) }));
  else {
    print(`made ${dir}. Next:
  nats-server -c ${path(FILES.broker)}
  uqrp node add NAME --feed ${dir} --out NAME.creds      # then SIGHUP to nats-server
Keep ${path(FILES.caKey)} and ${path(FILES.control)} secret and away from the broker: they let in new nodes, and sign the feed.
The broker needs ${[FILES.broker, FILES.users, FILES.ca, FILES.cert, FILES.key].join(', ')} alone.`);
  }
}

/** Prints the credentials of a new node, or writes them into a file. They are not kept here. */
export async function nodeAdd(
  clock: Clock,
  name: string,
  { feed, out }: { readonly feed: string; readonly out?: string },
): Promise<void> {
  if (!isNodeName(name)) {
    throw new UsageError(
      `a node's name has 1 to 32 small letters, digits and hyphens, and is not "${CONTROL_NAME}"`,
    );
  }
  if (out !== undefined && existsSync(out))
    throw new InputError(`${out} exists: choose another file, or move it away`);
  const dir = resolve(feed);
  const control = readControl(dir);
  const authority = { cert: control.ca, key: read(dir, FILES.caKey) };
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
  if (out !== undefined) writeNew(out, credentials);
  const add = (all: FeedNodes): FeedNodes => {
    const next = withNode(all, { name, nkey: nkey.publicKey, encrypt: publicPem(box.publicKey) });
    if (next === null)
      throw new InputError(
        `the feed has a node ${name}: choose another name, or run uqrp node remove ${name}`,
      );
    return next;
  };
  try {
    change(dir, add);
  } catch (error) {
    if (out !== undefined) rmSync(out, { force: true });
    throw error;
  }
  if (out === undefined) process.stdout.write(credentials);
}

function writeNew(path: string, text: string): void {
  try {
    replaceFileSync(resolve(path), text, SECRET);
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new InputError(`${path} cannot be written (${code}): no node was added`);
  }
}

/** Writes `nodes.conf` again, with the accounts of this release. */
export function nodeConfig({ feed }: { readonly feed: string }): void {
  const dir = resolve(feed);
  change(dir, (all) => all);
  process.stderr.write(
    `wrote ${join(dir, FILES.users)}. Restart nats-server: accounts that are new work only then. Nodes and control connect again by themselves.\n`,
  );
}

/** Takes a node out. nats-server ends its connection when it reads the file again. */
export function nodeRemove(name: string, { feed }: { feed: string }): void {
  const dir = resolve(feed);
  change(dir, (all) => {
    const next = withoutNode(all, name);
    if (next === null) throw new InputError(`the feed has no node ${name}`);
    return next;
  });
  process.stderr.write(`removed ${name}. Send SIGHUP to nats-server: it ends the connection of the node.\n`);
}

/** One command at a time: of two that read the same file, one would undo the other. */
function change(dir: string, next: (all: FeedNodes) => FeedNodes): void {
  const lock = join(dir, LOCK);
  try {
    mkdirSync(lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new InputError(
      `another uqrp node command changes ${dir}: wait for it. If there is none, remove ${lock}`,
    );
  }
  try {
    const all = parseNodes(read(dir, FILES.nodes));
    if (all === null) throw new InputError(`${join(dir, FILES.nodes)} is damaged: restore it from a backup`);
    writeNodes(dir, next(all));
  } finally {
    rmdirSync(lock);
  }
}

function writeNodes(dir: string, all: FeedNodes): void {
  replaceFileSync(join(dir, FILES.nodes), printNodes(all), PUBLIC);
  replaceFileSync(join(dir, FILES.users), nodesConfig(all), PUBLIC);
}

function readControl(dir: string): ReturnType<typeof parseCredentials> {
  try {
    return parseCredentials(read(dir, FILES.control));
  } catch (error) {
    if (error instanceof CredentialsError)
      throw new InputError(`${join(dir, FILES.control)}: ${error.message}`);
    throw error;
  }
}

function read(dir: string, name: string): string {
  try {
    return readFileSync(join(dir, name), 'utf8');
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
