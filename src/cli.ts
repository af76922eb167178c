#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { type DnssecOptions, dnssecDs, dnssecKeys, dnssecRollover } from './cli/dnssec.ts';
import { geoipUpdate } from './cli/geoip.ts';
import { namespaceFlag, userCreate, userList, userTier, userToken } from './cli/operator.ts';
import { EXIT, report } from './cli/output.ts';
import { type QueryOptions, query } from './cli/query.ts';
import { serveCommand } from './cli/serve.ts';
import { type StockMapOptions, stockMapImport } from './cli/stock-map.ts';
import { exportNamespace, importNamespace } from './cli/transfer.ts';

const clock = Date.now;
const program = new Command('uqrp')
  .description('Small records written over REST, read by everyone over DNS')
  .exitOverride()
  .configureHelp({ showGlobalOptions: true })
  .option('--json', 'print JSON for machines');

const json = (): boolean => program.opts<{ json?: boolean }>().json === true;

/** A subcommand that takes `--json` behind its name as well as before it. */
function command(parent: Command, usage: string, about: string): Command {
  return parent
    .command(usage)
    .description(about)
    .exitOverride()
    .option('--json', 'print JSON for machines')
    .hook('preAction', (_program, action) => {
      if (action.opts<{ json?: boolean }>().json === true) program.setOptionValue('json', true);
    });
}

command(program, 'serve', 'run the server until a signal ends it')
  .option('--accept-new-store', 'start although the database is another than the one of the last start')
  .action((options: { acceptNewStore?: boolean }) => serveCommand(clock, json(), options));

const user = program.command('user').description('customers').exitOverride();
command(user, 'create <email>', 'open an account')
  .option('--tier <tier>', 'free, pro, team or enterprise', 'free')
  .action((email: string, options: { tier: string }) => userCreate(clock, email, options.tier, json()));
command(user, 'token <email>', 'print a customer JWT, good for 12 hours').action((email: string) =>
  userToken(clock, email, json()),
);
command(user, 'tier <email> <tier>', 'move an account to another tier').action(
  (email: string, tier: string) => userTier(clock, email, tier, json()),
);
command(user, 'list', 'list all accounts').action(() => userList(clock, json()));

const namespace = program
  .command('namespace')
  .description('flags that only the operator sets')
  .exitOverride();
command(namespace, 'public-read <name> <on|off>', 'let everyone read a namespace without a token').action(
  (name: string, value: string) => namespaceFlag(clock, 'public-read', name, value, json()),
);
command(namespace, 'suspend <name> <on|off>', 'refuse every read of a namespace').action(
  (name: string, value: string) => namespaceFlag(clock, 'suspend', name, value, json()),
);

const dnssec = program.command('dnssec').description('keys of the zones').exitOverride();
const ZONE = ['--zone <zone>', 'one zone instead of all'] as const;
command(dnssec, 'ds', 'print the DS records for the parent')
  .option(...ZONE)
  .action((options: DnssecOptions) => dnssecDs(clock, options, json()));
command(dnssec, 'keys', 'list the keys and what they wait for')
  .option(...ZONE)
  .action((options: DnssecOptions) => dnssecKeys(clock, options, json()));
command(dnssec, 'rollover <zsk|ksk>', 'take the next step of a rollover, or say what it waits for')
  .option(...ZONE)
  .option('--confirm <what>', 'ds-added or ds-removed: what only you can know of the parent')
  .action((role: string, options: DnssecOptions) => dnssecRollover(clock, role, options, json()));

const geoip = program.command('geoip').description('database of addresses').exitOverride();
command(geoip, 'update', 'answer from another MaxMind DB file; running servers take it up within seconds')
  .requiredOption('--file <file>', 'the file, which is copied')
  .action((options: { file: string }) => geoipUpdate(options, json()));

const stockMap = program.command('stock-map').description('listing exchanges of tickers').exitOverride();
command(
  stockMap,
  'import <file>',
  'take over a symbol directory file (nasdaqtraded.txt); running servers see it',
)
  .requiredOption('--asof <date>', 'date of the file, YYYY-MM-DD')
  .requiredOption('--tag <tag>', 'where it comes from, sent as exchsrc')
  .action((file: string, options: StockMapOptions) => stockMapImport(clock, file, options, json()));

command(program, 'query <name>', 'ask for a name and decode the envelope')
  .option('--server <address>', 'address of the server')
  .option('--port <port>', 'its port')
  .option('--tcp', 'ask over TCP')
  .option('--dot', 'ask over TLS')
  .option('--doh', 'ask over HTTPS')
  .action((name: string, options: QueryOptions) => query(name, { ...options, json: json() }));

command(program, 'export <namespace>', 'print the records of a namespace as JSON lines').action(
  (name: string) => exportNamespace(clock, name),
);
command(
  program,
  'import <namespace> <file>',
  'store the records of a JSON lines file; - is standard input',
).action((name: string, file: string) => importNamespace(clock, name, file, json()));

try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its own message; --help and --version end with 0.
  process.exitCode =
    error instanceof CommanderError ? (error.exitCode === 0 ? EXIT.ok : EXIT.usage) : report(error);
}
