/** `uqrp log` for the operator of a log: begin it, look at it, take back what a restored database lost, print the policy for readers. */
import { UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { initLog, type LogKeys } from '../../control/transparency/init.ts';
import { recoverLog } from '../../control/transparency/recover.ts';
import type { WitnessState } from '../../control/transparency/witnesses.ts';
import {
  type LogStatus,
  logStatus,
  openLogSource,
  readersPolicy,
  requireLogSettings,
} from '../../process/operator/transparency.ts';
import { openLogKeys, policyOfSettings } from '../../process/zone-keys/log-key.ts';
import { type CliContext, withStore } from '../context.ts';
import { EXIT, print } from '../output.ts';

function keysOf({ config, deps, secret }: CliContext): LogKeys {
  return openLogKeys({ dataDir: config.dataDir, store: deps.store, secret });
}

/** Prints the verifier key of the log and nothing else, so that it can be taken by `$(...)`. */
export async function logInit(clock: Clock, origin: string, json: boolean): Promise<void> {
  await withStore(clock, async (context) => {
    const { verifierKey, entries } = await initLog(context.deps, keysOf(context), origin);
    if (context.config.datasetsLog === null)
      process.stderr.write('note: nothing is signed before UQRP_DATASETS_LOG is on\n');
    print(json ? JSON.stringify({ origin, vkey: verifierKey, entries }) : verifierKey);
  });
}

const SAID: Readonly<Record<WitnessState, string>> = {
  cosigned: 'cosigned',
  ahead: 'holds a larger size than this database has signed',
  less: 'holds an earlier checkpoint',
  other_root: 'holds another tree of this size',
  refused:
    "does not know this log, or refuses it: give it the log's key (uqrp witness trust VKEY), and check the URL",
  strange: 'gave no answer of the protocol',
  away: 'does not answer',
};

/** Exit code 1 when the log is behind a witness. */
export async function logStatusCommand(clock: Clock, json: boolean): Promise<void> {
  const status = await withStore(clock, ({ config, deps }) =>
    logStatus({ config, settings: requireLogSettings(config), store: deps.store }),
  );
  if (status.isBehind) process.exitCode = EXIT.failed;
  print(json ? JSON.stringify(statusJson(status)) : statusLines(status).join('\n'));
}

function statusLines({
  origin,
  entries,
  signed,
  published,
  publishedAt,
  isBehind,
  missing,
  witnesses,
}: LogStatus): string[] {
  const at = publishedAt === null ? '' : `, cosigned at ${new Date(publishedAt).toISOString()}`;
  return [
    `log ${origin}`,
    `entries ${entries}`,
    `signed ${signed}`,
    `published ${published}${at}`,
    ...(isBehind ? ['behind: nothing is signed before uqrp log recover'] : []),
    ...missing.map(missingLine),
    ...witnesses.map(({ name, url, state, size }) => {
      const held = size === null ? '' : `, size ${size}`;
      return `witness ${name} ${url} ${SAID[state]}${held}`;
    }),
  ];
}

function missingLine(name: string): string {
  return `missing: ${name}. Import it again from the same files, or: uqrp dataset retire ${name}`;
}

function statusJson({ publishedAt, isBehind, ...status }: LogStatus) {
  const at = publishedAt === null ? null : new Date(publishedAt).toISOString();
  return { ...status, published_at: at, behind: isBehind };
}

/** @param from URL of the log, or the folder of a monitor */
export async function logRecover(clock: Clock, from: string, json: boolean): Promise<void> {
  await withStore(clock, async (context) => {
    const { config, deps } = context;
    const settings = requireLogSettings(config);
    const key = await keysOf(context).find();
    if (key === null)
      throw new UsageError('the key of the transparency log is missing: put it back from a backup');
    const source = openLogSource(from, config);
    const recovered = await recoverLog({ ...deps, key, policy: policyOfSettings(settings) }, source);
    if (json) {
      print(JSON.stringify(recovered));
      return;
    }
    print(`recovered ${recovered.entries} entries; the log has signed ${recovered.size}`);
    for (const name of recovered.retired) print(`retired again: ${name}`);
    for (const name of recovered.replaced)
      print(
        `retired: ${name}. The log has another manifest of it, or its key had ended. Attest it again with a raised version`,
      );
    for (const name of recovered.missing) print(missingLine(name));
  });
}

/** The file for readers, which the publisher gives them: whoever takes it from the server that is checked checks nothing. */
export async function logPolicy(clock: Clock): Promise<void> {
  const text = await withStore(clock, (context) =>
    readersPolicy(context.config, requireLogSettings(context.config), keysOf(context)),
  );
  print(text.trimEnd());
}
