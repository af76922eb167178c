/** What `uqrp doctor` says of the transparency log. It asks the witnesses about the last signed checkpoint, and changes nothing. */
import { join } from 'node:path';
import { systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import type { WitnessAnswer } from '../../control/transparency/witnesses.ts';
import type { Config } from '../../ops/config/config.ts';
import { loadSecret } from '../../ops/config/data-dir.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { lastPublishedCheckpoint, lastSignedCheckpoint, readLogHead } from '../../store/transparency.ts';
import { openLogKeys } from '../zone-keys/log-key.ts';
import { type Finding, note, ok, wrong } from './checks.ts';
import { askAboutHead } from './transparency.ts';

export interface LogFacts {
  /** Whether UQRP_DATASETS_LOG is on. */
  readonly isOn: boolean;
  /** Null: no log has begun. */
  readonly head: { readonly origin: string; readonly size: number } | null;
  /** Of the key that is there; null: none. */
  readonly keyOrigin: string | null;
  readonly published: number;
  /** Milliseconds since the epoch; null: nothing is published. */
  readonly publishedAt: number | null;
  readonly witnesses: readonly { readonly name: string; readonly state: WitnessAnswer['state'] }[];
}

const CHECK = 'transparency log';
const HOUR_MS = 3_600_000;
/** It is cosigned again every six. */
const OLD_HOURS = 8;

/** Nothing in a process without a database, before its first start, and where neither a log nor the setting is there. */
export async function checkTransparencyLog(config: Config, clock: Clock): Promise<readonly Finding[]> {
  const { dataDir, databaseUrl, role } = config;
  const hasFile = systemFiles.facts(join(dataDir, 'uqrp.sqlite')) !== null;
  if (role === 'edge' || (databaseUrl === null && !hasFile)) return [];
  try {
    const store = await openStore({ dataDir, databaseUrl, clock, tables: 'look' });
    try {
      // Bounded: a database that does not answer ends the check after little more than a second.
      await store.ping();
      return logFindings(await factsOf(config, store), clock());
    } finally {
      await store.close();
    }
  } catch {
    // The check of the database says what is wrong with it.
    return config.datasetsLog === null ? [] : [note(CHECK, 'cannot be looked at: see the database')];
  }
}

async function factsOf(config: Config, store: Store): Promise<LogFacts> {
  const { dataDir, datasetsLog, secret } = config;
  const head = await readLogHead(store.read);
  const signed = await lastSignedCheckpoint(store.read);
  const published = await lastPublishedCheckpoint(store.read);
  const keys = openLogKeys({ dataDir, store, secret: loadSecret(dataDir, secret, false) });
  const key = head === null ? null : await keys.find().catch(() => null);
  const answers =
    datasetsLog === null || head === null || signed === null
      ? []
      : await askAboutHead({ config, settings: datasetsLog }, head.origin, signed);
  return {
    isOn: datasetsLog !== null,
    head,
    keyOrigin: key?.origin ?? null,
    published: published?.size ?? 0,
    publishedAt: published?.published ?? null,
    witnesses: answers.map(({ witness: { name }, state }) => ({ name, state })),
  };
}

/** @param now milliseconds since the epoch */
export function logFindings(facts: LogFacts, now: number): readonly Finding[] {
  const { isOn, head, keyOrigin, published, publishedAt, witnesses } = facts;
  if (head === null) return isOn ? [wrong(CHECK, 'there is none yet: uqrp log init ORIGIN begins it')] : [];
  if (!isOn) {
    return [
      wrong(CHECK, 'UQRP_DATASETS_LOG is off: what is published now is in no proof. Switch it on again'),
    ];
  }
  if (keyOrigin !== head.origin) {
    return [wrong(CHECK, 'its key is missing, or is that of another log. Put it back from a backup')];
  }
  if (witnesses.some(({ state }) => state === 'ahead')) {
    return [
      wrong(
        CHECK,
        'a witness holds more than this database has signed, as after a restore: uqrp log recover',
      ),
    ];
  }
  if (witnesses.some(({ state }) => state === 'other_root')) {
    return [wrong(CHECK, 'a witness holds another tree of this size: uqrp log status names it')];
  }
  const hours = publishedAt === null ? null : Math.floor((now - publishedAt) / HOUR_MS);
  const silent = witnesses.filter(({ state }) => state !== 'cosigned').map(({ name }) => name);
  const missing = silent.length === 0 ? '' : `; does not cosign: ${silent.join(', ')}`;
  if (hours !== null && hours >= OLD_HOURS) {
    return [wrong(CHECK, `no quorum has cosigned it for ${hours} hours${missing}. See uqrp log status`)];
  }
  const text = `${head.size} entries, ${published} published${missing}`;
  return [published < head.size || silent.length > 0 ? note(CHECK, text) : ok(CHECK, text)];
}
