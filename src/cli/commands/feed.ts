import type { FeedInitOptions } from '../actions/feed.ts';
import { type Builder, examples, group } from '../builder.ts';
import type { FeedOption } from '../control-credentials.ts';
import { UsageError } from '../output.ts';

const load = () => import('../actions/feed.ts');
const loadCommands = () => import('../actions/feed-commands.ts');
const loadStatus = () => import('../actions/feed-status.ts');
const CONTROL_FEED = ['--feed <dir>', 'folder that uqrp feed init made; else UQRP_FEED_CREDENTIALS'] as const;
const FEED = ['--feed <dir>', 'folder that uqrp feed init made'] as const;

export function addFeedCommands({ program, command, clock, json }: Builder): void {
  const feed = group(program, 'feed', 'the feed to nodes over a broker');
  command(feed, 'init', 'make the configuration of nats-server, a private CA, and the credentials of control')
    .argument('<dir>', 'new folder')
    .option('--listen <host:port>', 'where nats-server listens', '127.0.0.1:4222')
    .option('--host <host...>', 'names or addresses under which nodes reach it')
    .addHelpText('after', examples('uqrp feed init feed --listen 0.0.0.0:4222 --host nats.example.net'))
    .action(async (dir: string, options: FeedInitOptions) =>
      (await load()).feedInit(clock, dir, options, json()),
    );

  command(feed, 'snapshot', 'have control make a snapshot for new nodes now')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed snapshot --feed feed'))
    .action(async (options: FeedOption) => (await loadCommands()).feedSnapshot(clock, options, json()));
  command(feed, 'erase', 'make everything unreadable that the feed has carried, and what brokers keep of it')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed erase --feed feed'))
    .action(async (options: FeedOption) => (await loadCommands()).feedErase(clock, options, json()));
  command(feed, 'epoch', 'begin another epoch after a restored database: every node builds its view again')
    .argument('<new>', 'the word new')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed epoch new --feed feed'))
    .action(async (word: string, options: FeedOption) => {
      if (word !== 'new') throw new UsageError('the command is: uqrp feed epoch new');
      await (await loadCommands()).feedEpochNew(clock, options, json());
    });

  command(feed, 'status', 'log, stream, publisher, snapshots and late nodes, as a control process knows them')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed status --feed feed'))
    .action(async (options: FeedOption) => (await loadStatus()).feedStatus(clock, options, json()));

  const node = group(program, 'node', 'nodes that the feed over a broker lets in');
  command(node, 'add', 'let a node in, and print its credentials')
    .argument('<name>', 'small letters, digits and hyphens')
    .requiredOption(...FEED)
    .option('--out <file>', 'write them into this new file, for this user alone, instead of printing them')
    .addHelpText('after', examples('uqrp node add fra1 --feed feed --out fra1.creds'))
    .action(async (name: string, options: { feed: string; out?: string }) =>
      (await load()).nodeAdd(clock, name, options),
    );
  command(node, 'config', 'write nodes.conf again from nodes.json, as after an upgrade')
    .requiredOption(...FEED)
    .action(async (options: { feed: string }) => (await load()).nodeConfig(options));
  command(
    node,
    'status',
    'a row for each node; exit code 1 when one is late (no state for 15 seconds), or stale while changes are missing there',
  )
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp node status --feed feed', 'uqrp node status --json'))
    .action(async (options: FeedOption) => (await loadStatus()).nodeStatus(clock, options, json()));
  command(node, 'remove', 'shut a node out')
    .argument('<name>', 'of the node')
    .requiredOption(...FEED)
    .action(async (name: string, options: { feed: string }) => (await load()).nodeRemove(name, options));
}
