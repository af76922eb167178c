/** `feed` and `node`: the folder of a feed, and what its control processes tell and do. */
import { UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { FEED, feedServers } from '../../ops/config/variables.ts';
import { renewStoreEpoch } from '../../process/operator/backup.ts';
import {
  type ControlSettings,
  type FeedControl,
  settingsOfFolder,
  withControl,
} from '../../process/operator/feed-control.ts';
import {
  addFeedNode,
  makeFeedFolder,
  removeFeedNode,
  renewNodeConfig,
} from '../../process/operator/feed-folder.ts';
import { commandConfig, withStore } from '../context.ts';
import { EXIT, escapeControls, print, table } from '../output.ts';

type NodeReport = Awaited<ReturnType<FeedControl['nodes']>>[number];
type FeedStatus = Awaited<ReturnType<FeedControl['status']>>;

export interface FeedOption {
  /** Folder of `uqrp feed init`; left out: UQRP_FEED_CREDENTIALS. */
  readonly feed?: string;
}

/** @throws UsageError when neither is given; InputError for a file that cannot be used */
function controlSettings({ feed }: FeedOption): ControlSettings {
  if (feed !== undefined) {
    const settings = settingsOfFolder(feed);
    // With UQRP_FEED_URL, a broker behind another address than the one that the folder was made for.
    return { ...settings, servers: urlServers() ?? settings.servers };
  }
  const config = commandConfig();
  if (config.feed?.end === 'control') return config.feed;
  throw new UsageError(
    'give --feed DIR, the folder that uqrp feed init made, or set UQRP_FEED_CREDENTIALS to its control.creds',
  );
}

/** @throws UsageError for a value that is none */
function urlServers(): readonly string[] | null {
  const url = readEnvironment().UQRP_FEED_URL ?? '';
  if (url === '') return null;
  const servers = feedServers(url);
  if (servers === null) throw new UsageError(`UQRP_FEED_URL takes ${FEED.UQRP_FEED_URL.expects}`);
  return servers;
}

export async function feedErase(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async (control) => {
    const seq = await control.erase(() => {
      if (!json)
        print('keys, stream and snapshots are erased: nothing that was sent before can be read any more');
    });
    print(
      json ? JSON.stringify({ erased: true, snapshot: seq }) : `a new snapshot is made, at change ${seq}`,
    );
  });
}

/** Prints the number of the last change that the new snapshot has. */
export async function feedSnapshot(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  await withControl(controlSettings(options), clock, async (control) => {
    const seq = await control.newSnapshot();
    print(json ? JSON.stringify({ seq }) : `a snapshot with every change up to ${seq} is at the broker`);
  });
}

/** Over the broker; without a feed in the store itself. */
export async function feedEpochNew(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  if (options.feed === undefined && commandConfig().feed === null) return await storeEpochNew(clock, json);
  await withControl(controlSettings(options), clock, async (control) => {
    const epoch = await control.newEpoch();
    print(
      json
        ? JSON.stringify({ epoch })
        : `the database has epoch ${epoch}: every node builds its view again from it, and serves the old one meanwhile`,
    );
  });
}

async function storeEpochNew(clock: Clock, json: boolean): Promise<void> {
  const epoch = await withStore(clock, ({ deps }) => renewStoreEpoch(deps.store, clock));
  print(
    json
      ? JSON.stringify({ epoch })
      : `the database has epoch ${epoch}: servers build their view again from it, and cursors of before are refused`,
  );
}

// `uqrp node status` and `uqrp feed status`: asks a control process over the broker, with control's credentials.

/** Prints a row for each node; exit code 1 when one is late, or answers from a view that it cannot bring up to date. */
export async function nodeStatus(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  const nodes = await withControl(controlSettings(options), clock, (control) => control.nodes());
  if (json) print(JSON.stringify({ nodes: nodes.map(nodeJson) }));
  else if (nodes.length === 0) print('the feed has no nodes: uqrp node add makes one');
  else print(table([NODE_HEAD, ...nodes.map(nodeRow)]));
  if (nodes.some((node) => node.late || isBehind(node))) process.exitCode = EXIT.failed;
}

/** Prints how log, stream, publisher and snapshots stand. */
export async function feedStatus(clock: Clock, options: FeedOption, json: boolean): Promise<void> {
  const status = await withControl(controlSettings(options), clock, (control) => control.status());
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

export interface FeedInitOptions {
  readonly listen: string;
  /** Names and addresses under which nodes reach the broker. */
  readonly host?: readonly string[];
}

export async function feedInit(
  clock: Clock,
  folder: string,
  { listen, host = [] }: FeedInitOptions,
  json: boolean,
): Promise<void> {
  const made = await makeFeedFolder(clock, folder, { listen, hosts: host });
  const { dir, config, credentials, authorityKey, forBroker } = made;
  if (json) print(JSON.stringify({ dir, config, credentials }));
  else {
    print(`made ${dir}. Next:
  nats-server -c ${config}
  uqrp node add NAME --feed ${dir} --out NAME.creds      # then SIGHUP to nats-server
Keep ${authorityKey} and ${credentials} secret and away from the broker: they let in new nodes, and sign the feed.
The broker needs ${forBroker.join(', ')} alone.`);
  }
}

/** Prints the credentials of a new node, or writes them into a file. */
export async function nodeAdd(
  clock: Clock,
  name: string,
  options: { readonly feed: string; readonly out?: string },
): Promise<void> {
  const credentials = await addFeedNode(clock, name, options);
  if (options.out === undefined) process.stdout.write(credentials);
}

export function nodeConfig({ feed }: { readonly feed: string }): void {
  process.stderr.write(
    `wrote ${renewNodeConfig(feed)}. Restart nats-server: accounts that are new work only then. Nodes and control connect again by themselves.\n`,
  );
}

export function nodeRemove(name: string, { feed }: { readonly feed: string }): void {
  removeFeedNode(name, feed);
  process.stderr.write(
    `removed ${name}. Send SIGHUP to nats-server: it ends the connection of the node.\n` +
      'If somebody else may have its files: run "uqrp feed erase", then "uqrp dnssec rollover zsk --anew", and unless UQRP_DNSSEC is split ' +
      '"uqrp dnssec rollover ksk --anew" (docs/NODES.md, "A node was stolen").\n',
  );
}
