import type { Command } from 'commander';
import { type Builder, examples, group } from '../commands.ts';
import type { LogAuditOptions } from './audit.ts';
import type { LogReadOptions } from './prove.ts';

const loadWitness = () => import('./witness.ts');

export function addWitnessCommands({ program, command, clock, json, takeSignals }: Builder): void {
  const witness = group(program, 'witness', 'cosign the checkpoints of transparency logs');
  command(witness, 'init', 'make a witness in UQRP_DATA_DIR, and print its verifier key')
    .argument('<name>', 'URL without scheme that identifies it, such as witness.example.org/w1')
    .addHelpText('after', examples('UQRP_DATA_DIR=/var/lib/witness uqrp witness init witness.example.org/w1'))
    .action(async (name: string) => (await loadWitness()).witnessInit(name, json()));
  command(witness, 'trust', 'cosign this log from now on; the witness may run')
    .argument('<vkey>', 'verifier key of the log, as uqrp log init prints it')
    .addHelpText(
      'after',
      examples(
        "UQRP_DATA_DIR=/var/lib/witness uqrp witness trust 'api.example.net/log+b9de7679+AYsDE53QaT2v+X9Smz3GFiEPOFtoXviDXqp8sjkNeRBD'",
      ),
    )
    .action(async (vkey: string) => (await loadWitness()).witnessTrust(vkey, json()));
  command(witness, 'serve', 'answer logs and monitors until SIGTERM or SIGINT')
    .requiredOption('--listen <host:port>', 'where it listens, over HTTP')
    .addHelpText(
      'after',
      examples('UQRP_DATA_DIR=/var/lib/witness uqrp witness serve --listen 127.0.0.1:8080'),
    )
    .action(async (options: { listen: string }) => {
      const signals = takeSignals();
      await (await loadWitness()).witnessServe(clock, options, json(), signals);
    });
}

const loadAudit = () => import('./audit.ts');
const loadProve = () => import('./prove.ts');
const POLICY = ['--policy <file>', 'whom to trust: the log, its witnesses and the quorum'] as const;
const LOG_URL = ['--url <url>', 'of the log (default: that of the policy)'] as const;

export function addLogCommands(builder: Builder): void {
  const { program, command, clock, json, takeSignals, umask } = builder;
  const log = group(program, 'log', 'the transparency log of datasets');
  addOperatorLogCommands(builder, log);
  command(
    log,
    'audit',
    'watch a transparency log: verify that it only grows, tell what changed, and compare what is served; exit code 1 after an alarm',
  )
    .requiredOption(...POLICY)
    .requiredOption('--state <folder>', 'keeps the last checkpoint, all entries and evidence')
    .option('--slug <slug>', 'tell of this dataset alone')
    .option('--every <seconds>', 'go on until SIGTERM, with a round each time (default: one round)')
    .option('--compare <note>', 'a checkpoint that somebody else was shown')
    .option(
      '--exec <command>',
      'run this in a shell for each alarm, with the alarm as JSON on standard input',
    )
    .option(...LOG_URL)
    .option('--server <address>', 'address or name of the name server whose answers are compared')
    .option('--port <port>', 'its port (default: UQRP_DNS_PORT)')
    .addHelpText(
      'after',
      examples(
        'uqrp log audit --policy policy.txt --state watched',
        "uqrp log audit --policy policy.txt --state watched --every 60 --exec 'mail -s alarm you@example.net'",
      ),
    )
    .action(async (options: LogAuditOptions) => {
      const signals = takeSignals();
      await (await loadAudit()).logAudit(clock, { ...options, umask }, json(), signals);
    });
  command(log, 'checkpoint', 'print the checkpoint of a transparency log, when the policy trusts it')
    .requiredOption(...POLICY)
    .option(...LOG_URL)
    .addHelpText('after', examples('uqrp log checkpoint --policy policy.txt > checkpoint.txt'))
    .action(async (options: LogReadOptions) => (await loadProve()).logCheckpoint(options, json()));
  command(log, 'prove', 'print a proof that a transparency log has a manifest, made from its tiles')
    .argument('<manifest>', 'SLUG@VERSION')
    .requiredOption(...POLICY)
    .option(...LOG_URL)
    .addHelpText(
      'after',
      examples('uqrp log prove gtin-demo@1.2.0 --policy policy.txt > gtin-demo-1.2.0.tlog-proof'),
    )
    .action(async (target: string, options: LogReadOptions) =>
      (await loadProve()).logProve(target, options, json()),
    );
}

const loadLog = () => import('./log.ts');

/** For the operator of a log; they need UQRP_DATASETS_LOG and UQRP_DATASETS_LOG_POLICY as the server does. */
function addOperatorLogCommands({ command, clock, json }: Builder, log: Command): void {
  command(log, 'init', 'begin the log with what is published so far; print its verifier key')
    .argument('<origin>', 'the URL prefix of the log without its scheme, such as api.example.net/log')
    .addHelpText('after', examples('uqrp log init api.example.net/log'))
    .action(async (origin: string) => (await loadLog()).logInit(clock, origin, json()));
  command(log, 'status', 'show sizes, and what each witness says; exit code 1 when a witness holds more')
    .addHelpText('after', examples('uqrp log status'))
    .action(async () => (await loadLog()).logStatusCommand(clock, json()));
  command(log, 'recover', 'after a restore: take back the entries that the database lost')
    .argument('<from>', 'folder of a monitor, or URL of a copy of the log that has more than this server')
    .addHelpText(
      'after',
      examples('uqrp log recover ./watched', 'uqrp log recover https://copy.example.net/log'),
    )
    .action(async (from: string) => (await loadLog()).logRecover(clock, from, json()));
  command(log, 'policy', 'print the policy file for readers: the log, its witnesses, the quorum')
    .addHelpText('after', examples('uqrp log policy > policy.txt'))
    .action(async () => (await loadLog()).logPolicy(clock));
}
