import type { Command } from 'commander';
import { UsageError } from '../base/errors.ts';
import type { ApplyOptions, PromoteOptions } from './actions/apply.ts';
import type { ImportOptions, VerifyOptions } from './actions/datasets.ts';
import type { DnssecOptions, RolloverOptions } from './actions/dnssec.ts';
import type { FeedInitOptions, FeedOption } from './actions/feed.ts';
import type { ApiOption } from './actions/history.ts';
import type { StockMapOptions } from './actions/upkeep.ts';
import type { WatchOptions } from './actions/watch.ts';
import { type Builder, examples, group } from './commands.ts';

export function addDataCommands({ program, command, clock, json, umask }: Builder): void {
  const geoip = group(program, 'geoip', 'replace the address database of the service geoip');
  command(geoip, 'update', 'answer from another MaxMind DB file; running servers take it up within seconds')
    .requiredOption('--file <file>', 'the file, which is copied')
    .action(async (options: { file: string }) =>
      (await import('./actions/upkeep.ts')).geoipUpdate(options, json()),
    );

  const stockMap = group(program, 'stock-map', 'replace the list of exchanges of the service stock');
  command(stockMap, 'import', 'read a symbol directory file; running servers use it within a second')
    .argument('<file>', 'nasdaqtraded.txt of Nasdaq Trader')
    .requiredOption('--asof <date>', 'date of the file, YYYY-MM-DD')
    .requiredOption('--tag <tag>', 'source of the file, sent as exchsrc')
    .addHelpText(
      'after',
      examples('uqrp stock-map import nasdaqtraded.txt --asof 2026-11-20 --tag nasdaqtrader'),
    )
    .action(async (file: string, options: StockMapOptions) =>
      (await import('./actions/upkeep.ts')).stockMapImport(clock, file, options, json()),
    );

  const planned = (one: Command): Command =>
    one
      .option('--dry-run', 'print what would change, and write nothing')
      .option('--diff', 'the same, with the differences of the values')
      .option('--check', 'the same as --dry-run; exit code 3 when something would change')
      .option('--prune', 'delete what is not there any more, except records with an expiry')
      .option(
        '--encrypt <file>',
        'encrypt values with the first key of this key file, and compare them decrypted',
      )
      .option('--max-deletes <n>', 'allow so many deletions (default: 10, or a fifth of the records)')
      .option('--api <url>', 'the REST server (default: the one of the configuration)');
  planned(
    command(program, 'apply', 'make a namespace hold the files of a directory, over REST with UQRP_TOKEN'),
  )
    .argument('<directory>', 'its files are records: flags/dark-mode.json is dark-mode.flags.NAMESPACE.v1')
    .option('--namespace <name>', 'the namespace (default: that in uqrp.json)')
    .addHelpText('after', examples('uqrp apply config --diff', 'uqrp apply config --namespace shop --prune'))
    .action(async (dir: string, options: ApplyOptions) =>
      (await import('./actions/apply.ts')).applyDirectory(dir, options, json()),
    );
  planned(
    command(
      program,
      'promote',
      'make a namespace hold the records of another one, over REST with UQRP_TOKEN',
    ),
  )
    .argument('<from>', 'the namespace that has them')
    .argument('<to>', 'the namespace that shall have them')
    .option('--resource <name>', 'only this resource')
    .addHelpText('after', examples('uqrp promote shop-test shop --resource flags --diff'))
    .action(async (from: string, to: string, options: PromoteOptions) =>
      (await import('./actions/apply.ts')).promoteNamespace(from, to, options, json()),
    );

  command(
    program,
    'watch',
    'print changes of records and namespaces as they are made, or run a command for each',
  )
    .argument('[namespace]', 'only changes of this namespace')
    .option('--since <cursor>', 'begin after this place; else at the stored one, else now')
    .option('--state <file>', 'keep the place in this file, written after each change')
    .option(
      '--exec <command>',
      'run this for each change, one at a time, with UQRP_EVENT, UQRP_KEY and UQRP_NAMESPACE; one that fails is run again',
    )
    .option('--api <url>', 'the REST server (default: the one of the configuration)')
    .addHelpText(
      'after',
      examples(
        'uqrp watch shop',
        'uqrp watch shop --state shop.cursor --exec \'echo "$UQRP_EVENT $UQRP_KEY"\'',
      ),
    )
    .action(async (name: string | undefined, options: WatchOptions) =>
      (await import('./actions/watch.ts')).watchChanges(name, options, umask, json()),
    );
  command(program, 'export', 'print the records of a namespace as JSON lines')
    .argument('<namespace>', 'the namespace')
    .option('--at <time>', 'as the records were then; only of a namespace that keeps history')
    .addHelpText(
      'after',
      examples('uqrp export acme > acme.jsonl', 'uqrp export acme --at 2026-11-25T12:00:00Z'),
    )
    .action(async (name: string, options: { at?: string }) =>
      (await import('./actions/transfer.ts')).exportNamespace(clock, name, options.at),
    );
  command(program, 'import', 'store the records of a JSON lines file, replacing those with the same key')
    .argument('<namespace>', 'the namespace, which must exist')
    .argument('<file>', 'the file; - is standard input')
    .option('--dry-run', 'print how many records are new, replaced, unchanged and refused, and write nothing')
    .addHelpText('after', examples('uqrp import acme acme.jsonl'))
    .action(async (name: string, file: string, options: { dryRun?: boolean }) =>
      (await import('./actions/transfer.ts')).importNamespace(clock, name, file, options, json()),
    );
}

const loadHistory = () => import('./actions/history.ts');
const API = [
  '--api <url>',
  'REST server for UQRP_TOKEN (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)',
] as const;
const OF_KEY = ['<key>', 'the key of a record, in a namespace that keeps history'] as const;

/** Over REST, with UQRP_TOKEN. */
export function addHistoryCommands({ program, command, json }: Builder): void {
  command(program, 'history', 'list the versions of a record, also of a deleted one')
    .argument(...OF_KEY)
    .option(...API)
    .addHelpText('after', examples('UQRP_TOKEN=$TOKEN uqrp history greeting.acme.v1'))
    .action(async (key: string, options: ApiOption) =>
      (await loadHistory()).showHistory(key, options, json()),
    );
  command(program, 'diff', 'show how two versions of a record differ')
    .argument(...OF_KEY)
    .argument('<version>', 'number of a version, as `history` prints it')
    .argument('[other]', 'number of another version (default: the present value)')
    .option(...API)
    .addHelpText('after', examples('uqrp diff greeting.acme.v1 3', 'uqrp diff greeting.acme.v1 3 4'))
    .action(async (key: string, from: string, to: string | undefined, options: ApiOption) =>
      (await loadHistory()).diffVersions(key, from, to, options, json()),
    );
  command(program, 'restore-record', 'give a record the value of a version again, also a deleted record')
    .argument(...OF_KEY)
    .requiredOption('--to <version>', 'number of the version')
    .option(...API)
    .addHelpText('after', examples('uqrp restore-record greeting.acme.v1 --to 3'))
    .action(async (key: string, options: ApiOption & { to: string }) =>
      (await loadHistory()).restoreVersion(key, options, json()),
    );
  command(program, 'undo', 'bring every record of a write back to what it was before')
    .argument('<write>', 'X-Service-Seq of the answer to the write')
    .option('--namespace <name>', 'only in this namespace')
    .option(...API)
    .addHelpText('after', examples('uqrp undo AW9wYXF1ZQ', 'uqrp undo AW9wYXF1ZQ --namespace acme'))
    .action(async (write: string, options: ApiOption & { namespace?: string }) =>
      (await loadHistory()).undoWriteOver(write, options, json()),
    );
}

const loadDatasets = () => import('./actions/datasets.ts');
const ITEMS = ['--items <file>', 'items file, JSON lines'] as const;

export function addDatasetCommands(builder: Builder): void {
  const { program, command, clock, json } = builder;
  const dataset = group(
    program,
    'dataset',
    'attest files of reference data, verify them, and publish them over DNS',
  );
  command(dataset, 'keygen', 'make a key that attests from now on; print its id and public key').action(
    async () => (await loadDatasets()).datasetKeygen(clock, json()),
  );
  command(
    dataset,
    'attest',
    'check a manifest and its items, and print the manifest with a signature; where a server has a transparency log, licence, provenance and URL become public for good',
  )
    .argument('<manifest>', 'manifest file: slug, version, license, provenance and url as JSON')
    .requiredOption(...ITEMS)
    .addHelpText('after', examples('uqrp dataset attest manifest.json --items items.jsonl > signed.json'))
    .action(async (manifest: string, options: { items: string }) =>
      (await loadDatasets()).datasetAttest(clock, manifest, options, json()),
    );
  command(
    dataset,
    'verify',
    'check signature, hash and items of an attested manifest; exit code 1 when one is wrong',
  )
    .argument('<signed>', 'manifest file that attest printed')
    .requiredOption(...ITEMS)
    .requiredOption('--key <base64>', 'public key of the publisher, 32 octets in Base64')
    .option('--log <policy>', 'with --proof: check that a transparency log has it, by this policy file')
    .option('--proof <file>', 'proof of the transparency log, without network')
    .addHelpText(
      'after',
      examples(
        'uqrp dataset verify signed.json --items items.jsonl --key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
        'uqrp dataset verify signed.json --items items.jsonl --key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= --log policy.txt --proof gtin-demo-1.2.0.tlog-proof',
      ),
    )
    .action(async (signed: string, options: VerifyOptions) =>
      (await loadDatasets()).datasetVerify(signed, options, json()),
    );
  addRegistryCommands(builder, dataset);
}

function addRegistryCommands({ command, clock, json }: Builder, dataset: Command): void {
  command(
    dataset,
    'import',
    'check a signed manifest and its items, and serve them; beside a running server. With a transparency log, licence, provenance and URL become public for good',
  )
    .argument('<signed>', 'manifest file that attest printed')
    .requiredOption(...ITEMS)
    .option('--key <base64>', 'public key of another publisher, 32 octets in Base64; it is remembered')
    .addHelpText('after', examples('uqrp dataset import signed.json --items items.jsonl'))
    .action(async (signed: string, options: ImportOptions) =>
      (await loadDatasets()).datasetImport(clock, signed, options, json()),
    );
  command(dataset, 'list', 'list the datasets that are served or being imported').action(async () =>
    (await loadDatasets()).datasetList(clock, json()),
  );
  command(dataset, 'retire', 'serve a version no more, or no version of a dataset')
    .argument('<dataset>', 'SLUG or SLUG@VERSION')
    .addHelpText('after', examples('uqrp dataset retire gtin-demo@1.2.0'))
    .action(async (target: string) => (await loadDatasets()).datasetRetire(clock, target, json()));
  command(dataset, 'export', 'print the items file of a served version, octet for octet')
    .argument('<dataset>', 'SLUG, for the latest version, or SLUG@VERSION')
    .option('--manifest', 'print the signed manifest instead')
    .addHelpText('after', examples('uqrp dataset export gtin-demo > items.jsonl'))
    .action(async (target: string, options: { manifest?: boolean }) =>
      (await loadDatasets()).datasetExport(clock, target, options),
    );
}

const loadFeed = () => import('./actions/feed.ts');
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
      (await loadFeed()).feedInit(clock, dir, options, json()),
    );

  command(feed, 'snapshot', 'have control make a snapshot for new nodes now')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed snapshot --feed feed'))
    .action(async (options: FeedOption) => (await loadFeed()).feedSnapshot(clock, options, json()));
  command(feed, 'erase', 'make everything unreadable that the feed has carried, and what brokers keep of it')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed erase --feed feed'))
    .action(async (options: FeedOption) => (await loadFeed()).feedErase(clock, options, json()));
  command(
    feed,
    'epoch',
    'begin another epoch after a restored database: every view is built again, and cursors of changes from before are refused',
  )
    .argument('<new>', 'the word new')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed epoch new --feed feed'))
    .action(async (word: string, options: FeedOption) => {
      if (word !== 'new') throw new UsageError('the command is: uqrp feed epoch new');
      await (await loadFeed()).feedEpochNew(clock, options, json());
    });

  command(feed, 'status', 'log, stream, publisher, snapshots and late nodes, as a control process knows them')
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp feed status --feed feed'))
    .action(async (options: FeedOption) => (await loadFeed()).feedStatus(clock, options, json()));

  const node = group(program, 'node', 'nodes that the feed over a broker lets in');
  command(node, 'add', 'let a node in, and print its credentials')
    .argument('<name>', 'small letters, digits and hyphens')
    .requiredOption(...FEED)
    .option('--out <file>', 'write them into this new file, for this user alone, instead of printing them')
    .addHelpText('after', examples('uqrp node add fra1 --feed feed --out fra1.creds'))
    .action(async (name: string, options: { feed: string; out?: string }) =>
      (await loadFeed()).nodeAdd(clock, name, options),
    );
  command(node, 'config', 'write nodes.conf again from nodes.json, as after an upgrade')
    .requiredOption(...FEED)
    .action(async (options: { feed: string }) => (await loadFeed()).nodeConfig(options));
  command(
    node,
    'status',
    'a row for each node; exit code 1 when one is late (no state for 15 seconds), or stale while changes are missing there',
  )
    .option(...CONTROL_FEED)
    .addHelpText('after', examples('uqrp node status --feed feed', 'uqrp node status --json'))
    .action(async (options: FeedOption) => (await loadFeed()).nodeStatus(clock, options, json()));
  command(node, 'remove', 'shut a node out')
    .argument('<name>', 'of the node')
    .requiredOption(...FEED)
    .action(async (name: string, options: { feed: string }) => (await loadFeed()).nodeRemove(name, options));
}

const loadKeys = () => import('./actions/dnssec.ts');
const ZONE = ['--zone <zone>', 'one zone instead of all'] as const;

export function addKeyCommands({ program, command, clock, json }: Builder): void {
  const dnssec = group(program, 'dnssec', 'show and replace the signing keys of the zones');
  command(dnssec, 'ds', 'print the DS records that the parent zone needs')
    .option(...ZONE)
    .addHelpText('after', examples('uqrp dnssec ds', 'uqrp dnssec ds --zone dns.example.com'))
    .action(async (options: DnssecOptions) => (await loadKeys()).dnssecDs(clock, options, json()));
  command(dnssec, 'keys', 'list the keys, and the next step of each')
    .option(...ZONE)
    .action(async (options: DnssecOptions) => (await loadKeys()).dnssecKeys(clock, options, json()));
  command(dnssec, 'rollover', 'take the next step of a rollover, or print what it waits for')
    .argument('<zsk|ksk>', 'which key is replaced')
    .option(...ZONE)
    .option('--confirm <what>', 'ds-added or ds-removed: what you have checked at the parent')
    .option(
      '--anew',
      'publish a new key, in place of one that does not sign yet: somebody else may have that',
    )
    .option('--dry-run', 'print the step, and change nothing')
    .option('--despite-nodes', 'switch although a node has not answered the new key for an hour')
    .addHelpText('after', examples('uqrp dnssec rollover zsk --dry-run', 'uqrp dnssec rollover zsk'))
    .action(async (role: string, options: RolloverOptions) =>
      (await loadKeys()).dnssecRollover(clock, role, options, json()),
    );
}
