/** What an operator does to the transparency log, without printing: where it is read from, how it and its witnesses are. */
import { join } from 'node:path';
import { InputError, UsageError } from '../../base/errors.ts';
import { systemFiles } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { type LogKeys, verifierKeyOfLog } from '../../control/transparency/init.ts';
import type { LogSource } from '../../control/transparency/recover.ts';
import {
  type LogCheckpointNote,
  submitToWitnesses,
  type WitnessAnswer,
  type WitnessState,
} from '../../control/transparency/witnesses.ts';
import type { Config } from '../../ops/config/config.ts';
import type { LogSettings } from '../../ops/config/log-settings.ts';
import { makeResolve } from '../../outbound/connection.ts';
import { createOutboundClient } from '../../outbound/outbound-client.ts';
import { operatorOrigins } from '../../outbound/target.ts';
import { printPolicy } from '../../protocol/transparency/policy.ts';
import type { Store } from '../../store/store.ts';
import {
  lastPublishedCheckpoint,
  lastSignedCheckpoint,
  readLogHead,
  unservedVersions,
} from '../../store/transparency.ts';
import { policyOfSettings, witnessClient } from '../zone-keys/log-key.ts';

/** @throws UsageError while the log is off */
export function requireLogSettings({ datasetsLog }: Pick<Config, 'datasetsLog'>): LogSettings {
  if (datasetsLog !== null) return datasetsLog;
  throw new UsageError(
    'the transparency log is off: set UQRP_DATASETS_LOG=on and UQRP_DATASETS_LOG_POLICY as for the server',
  );
}

export interface LogStatus {
  readonly origin: string;
  /** Numbers of entries. */
  readonly entries: number;
  readonly signed: number;
  readonly published: number;
  /** Milliseconds since the epoch. */
  readonly publishedAt: number | null;
  /** Whether a witness holds more than this database has signed. */
  readonly isBehind: boolean;
  /** See `unservedVersions`. */
  readonly missing: readonly string[];
  readonly witnesses: readonly {
    readonly name: string;
    readonly url: string;
    readonly state: WitnessState;
    readonly size: number | null;
  }[];
}

interface StatusOptions {
  readonly config: Pick<Config, 'resolvers'>;
  readonly settings: LogSettings;
  readonly store: Pick<Store, 'read'>;
}

/** Asks each witness about the last signed checkpoint, as the signer does. @throws InputError without a log */
export async function logStatus({ config, settings, store: { read } }: StatusOptions): Promise<LogStatus> {
  const head = await readLogHead(read);
  const signed = await lastSignedCheckpoint(read);
  if (head === null || signed === null)
    throw new InputError('there is no transparency log yet: uqrp log init ORIGIN begins one');
  const published = await lastPublishedCheckpoint(read);
  const answers = await askAboutHead({ config, settings }, head.origin, signed);
  return {
    origin: head.origin,
    entries: head.size,
    signed: signed.size,
    published: published?.size ?? 0,
    publishedAt: published?.published ?? null,
    isBehind: answers.some(({ state }) => state === 'ahead'),
    missing: await unservedVersions(read),
    witnesses: answers.map(({ witness: { name, url }, state, size }) => ({
      name,
      url: url ?? '',
      state,
      size,
    })),
  };
}

/** What each witness says of the last signed checkpoint. One that holds less says so, and stays as it is. */
export function askAboutHead(
  { config, settings }: Pick<StatusOptions, 'config' | 'settings'>,
  origin: string,
  checkpoint: LogCheckpointNote,
): Promise<readonly WitnessAnswer[]> {
  return submitToWitnesses(
    witnessClient(settings, makeResolve(config.resolvers)),
    policyOfSettings(settings),
    { origin, checkpoint, old: checkpoint.size, prove: null },
  );
}

/** The policy for readers: that of the server, with the key of the log. @throws InputError without a key */
export async function readersPolicy(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  settings: LogSettings,
  keys: LogKeys,
): Promise<string> {
  const key = await keys.find();
  if (key === null) throw new InputError('there is no transparency log yet: uqrp log init ORIGIN begins one');
  const url = publicUrl === null ? `https://${key.origin}` : `${publicUrl}/log`;
  return printPolicy({ ...policyOfSettings(settings), logs: [{ key: verifierKeyOfLog(key), url }] });
}

/** @param from URL of a log, or the folder of a monitor: both have the same paths */
export function openLogSource(from: string, { resolvers }: Pick<Config, 'resolvers'>): LogSource {
  return /^https?:\/\//.test(from) ? urlSource(from.replace(/\/$/, ''), resolvers) : folderSource(from);
}

function urlSource(prefix: string, resolvers: readonly string[]): LogSource {
  if (!URL.canParse(prefix)) throw new UsageError(`${prefix} is no URL`);
  const send = createOutboundClient({
    policy: operatorOrigins([prefix]),
    resolve: makeResolve(resolvers),
    deadlineMs: LIMITS.logWitnessMs,
  });
  return {
    async read(path, maxOctets) {
      const result = await send({
        method: 'GET',
        url: new URL(`${prefix}/${path}`),
        headers: {},
        maxBytes: maxOctets,
      });
      if (result.kind === 'failed') throw new InputError(`${prefix}/${path}: no answer (${result.fault})`);
      if (result.status === 200) return result.body;
      throw new InputError(`${prefix}/${path}: status ${result.status}`);
    },
  };
}

function folderSource(folder: string): LogSource {
  return {
    async read(path, maxOctets) {
      const file = join(folder, path);
      const octets = systemFiles.facts(file)?.kind === 'file' ? systemFiles.read(file) : null;
      if (octets === null || octets.length > maxOctets)
        throw new InputError(`${file} is not there, or too long`);
      return octets;
    },
  };
}
