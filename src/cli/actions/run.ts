import { setTimeout as pause } from 'node:timers/promises';
import type { PayloadOpener } from '../../../sdk/src/encryption.ts';
import {
  ApiError,
  ConnectionError,
  type RecordResource,
  TimeoutError,
  type Uqrp,
} from '../../../sdk/src/uqrp-sdk.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { backoffMs } from '../../base/lifecycle/loop.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { type Environment, readEnvironment } from '../../ops/config/env.ts';
import { contentFormat, envelopeHead, FORMATS } from '../../protocol/query/envelope.ts';
import { commandConfig } from '../context.ts';
import { type OpenerOptions, openerOf } from '../key-files.ts';
import { escapeControls, goOnWithoutReader } from '../output.ts';
import { commandFault, openRest, type Rest } from '../rest.ts';
import { type RunningProgram, startProgram, type Variables } from '../run/program.ts';
import { countValues, openedRecords, type ValueRecord, variablesOf } from '../run/values.ts';
import { type KeptRecord, openCopy, type ValuesCopy } from '../run/values-copy.ts';
import { durationSeconds } from './put-input.ts';

export interface RunOptions extends Omit<OpenerOptions, 'maxAge'> {
  readonly namespace: string;
  readonly resource?: string;
  /** Oldest copy that may be used: `30s`, `5m`, `24h`, `7d`. */
  readonly maxAge: string;
  readonly offline?: boolean;
  readonly onChange: 'ignore' | 'restart' | 'hup';
  /** Names of variables, separated by commas. */
  readonly allow?: string;
  readonly keepToken?: boolean;
  readonly api?: string;
}

/** Records of a page: 500 with the longest payloads have 2 MB. */
const PAGE = 500;
/** How long a start waits for a page before it takes the copy. */
const PATIENCE_MS = 10_000;
/** Between attempts to reach a server that does not answer, milliseconds. */
const RETRY = { firstMs: 1000, capMs: 30_000 };
/** Changes that come within this time are one: a program is not started again for each of them. Milliseconds. */
const GATHER_MS = 250;

/** What the records were, and the place in the feed of changes after which they may be others. */
interface Values {
  readonly records: readonly ValueRecord[];
  readonly kept: readonly KeptRecord[];
  readonly cursor: string | null;
}

/**
 * Runs a program with the payloads of records as variables. Ends with its exit code.
 * @param umask of the shell: the program gets it
 * @throws UsageError; InputError when there are no values, before the program starts
 */
export async function runProgram(
  clock: Clock,
  command: readonly string[],
  options: RunOptions,
  umask: number | undefined,
): Promise<void> {
  const { onChange, offline = false } = options;
  const maxAge = durationSeconds(options.maxAge, '--max-age', '30s, 5m, 24h or 7d') * 1000;
  if (offline && onChange !== 'ignore')
    throw new UsageError('--offline asks no server: leave out --on-change');
  const allowed = new Set((options.allow ?? '').split(',').map((name) => name.trim()));
  const { key, signedBy, allowPlain } = options;
  const opener = await openerOf({
    ...(key !== undefined && { key }),
    ...(signedBy !== undefined && { signedBy }),
    ...(allowPlain !== undefined && { allowPlain }),
  });
  const rest = openRest(options.api, commandConfig());
  const env = readEnvironment();
  const source = {
    origin: rest.origin,
    namespace: options.namespace.toLowerCase(),
    resource: options.resource?.toLowerCase(),
    token: env.UQRP_TOKEN ?? '',
  };
  const copy = openCopy(source, env, clock, (reason) => say(`the values are not kept: ${reason}`));
  const read = (): Promise<Values> => readValues(rest.api, source, onChange !== 'ignore');

  const environment = async (records: readonly ValueRecord[]): Promise<Variables> =>
    environmentOf(env, variablesOf(await openedRecords(opener, records), allowed), options);

  const now = offline ? null : await firstValues(rest, read, copy);
  if (now !== null && opener !== null) await rememberTimes(opener, copy);
  const records = now?.records ?? (await keptValues(copy, { clock, maxAge }));
  const variables = await environment(records);
  if (records.length === 0) say(`no records in ${nameOf(source)}`);
  if (now !== null) {
    copy.save(now.kept);
    await copy.flush();
  }

  goOnWithoutReader();
  if (umask !== undefined) process.umask(umask);
  const program = startProgram(command, variables);
  const ending = new AbortController();
  const following =
    onChange === 'ignore'
      ? null
      : follow(rest, {
          read,
          copy,
          source,
          cursor: now?.cursor ?? null,
          records,
          kept: now?.kept ?? [],
          signal: ending.signal,
          take: async (changed) => act(program, onChange, await environment(changed)),
        });
  process.exitCode = await program.ended;
  ending.abort();
  await following;
  await copy.flush();
  // Handlers of signals hold the process.
  process.exit();
}

function act(program: RunningProgram, onChange: 'restart' | 'hup', variables: Variables): void {
  if (onChange === 'restart') program.restart(variables);
  else program.hangUp();
}

/** So that a value older than that of the last start is refused. A copy that cannot be used remembers nothing. */
async function rememberTimes(opener: PayloadOpener, copy: ValuesCopy): Promise<void> {
  const known = await copy.load().catch(() => null);
  for (const { key, data } of known?.records ?? []) opener.remember(key, data);
}

/** Null when the server is away. @throws InputError when it refuses; then the copy is gone */
async function firstValues(
  rest: Rest,
  read: () => Promise<Values>,
  copy: ValuesCopy,
): Promise<Values | null> {
  try {
    return await read();
  } catch (error) {
    if (isRefusal(error)) await copy.remove();
    if (!isAway(error)) throw commandFault(error, rest.origin);
    say((commandFault(error, rest.origin) as Error).message);
    return null;
  }
}

/** The token reaches no such namespace, or may not read it. */
class NoReach extends InputError {}

/** The server refuses this credential, now and later. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NoReach) return true;
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/** The same request may succeed later. */
function isAway(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError || error instanceof TimeoutError;
}

interface KeptUse {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly maxAge: number;
}

/** @throws InputError without a copy that may be used */
async function keptValues(copy: ValuesCopy, { clock, maxAge }: KeptUse): Promise<readonly ValueRecord[]> {
  const known = await copy.load().catch((error: unknown) => {
    throw new InputError((error as Error).message);
  });
  if (known === null) throw new InputError('there is no copy of the values that UQRP_TOKEN opens');
  const now = clock();
  // A clock that was set back makes no copy older.
  const age = Math.max(0, now - known.saved);
  if (age > maxAge) throw new InputError(`the copy is ${ageText(age)} old, older than --max-age`);
  say(`values of ${timeText(known.saved, now)}, ${ageText(age)} old`);
  return known.records;
}

const AGES = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

function ageText(age: number): string {
  const [unit, length] = AGES.find(([, one]) => age >= one) ?? ['s', 1000];
  return `${Math.floor(age / length)} ${unit}`;
}

/** The local time, with the day when it is another one. */
function timeText(time: number, now: number): string {
  const [then, today] = [new Date(time), new Date(now)];
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} `;
  const isToday = then.toDateString() === today.toDateString();
  return `${isToday ? '' : day}${two(then.getHours())}:${two(then.getMinutes())}`;
}

interface Source {
  readonly namespace: string;
  readonly resource: string | undefined;
}

function nameOf({ namespace, resource }: Source): string {
  return resource === undefined ? namespace : `${resource}.${namespace}`;
}

/** @throws errors of the SDK; NoReach; InputError for too many octets */
async function readValues(api: Uqrp, source: Source, withCursor: boolean): Promise<Values> {
  // The place before the records: a change between the two is not missed.
  const patience = { timeout: PATIENCE_MS };
  const { namespace, resource } = source;
  const cursor = withCursor ? (await api.changesPage({ namespace }, patience)).next : null;
  const records: ValueRecord[] = [];
  const kept: KeptRecord[] = [];
  const listing = api.records.list({ namespace, resource }, { limit: PAGE, ...patience });
  for await (const { items } of listing.pages()) {
    for (const row of items) {
      const [record, one] = valuesOf(row);
      records.push(record);
      kept.push(one);
    }
    countValues(records);
  }
  // A mistyped namespace, or one that is gone, has no records either: a program would start without its values.
  if (records.length === 0 && (await api.namespaces.find(namespace, patience)) === null)
    throw new NoReach(`UQRP_TOKEN reaches no namespace ${escapeControls(namespace)}`);
  return { records, kept, cursor };
}

function valuesOf({ key, data, content_type, ttl_seconds }: RecordResource): [ValueRecord, KeptRecord] {
  if (data === undefined) throw new NoReach('UQRP_TOKEN may not read: the records came without data');
  const envelope = envelopeHead('b64', contentFormat(content_type, FORMATS), ttl_seconds) + data;
  return [
    { key, data: Buffer.from(data, 'base64') },
    { key, envelope },
  ];
}

/** What the program gets: our own environment, with the values over it. */
function environmentOf(
  env: Environment,
  values: ReadonlyMap<string, string>,
  { keepToken = false }: RunOptions,
): Variables {
  const { UQRP_TOKEN, ...rest } = env;
  const token = keepToken && UQRP_TOKEN !== undefined ? { UQRP_TOKEN } : {};
  return { ...rest, ...token, ...Object.fromEntries(values) };
}

interface Following {
  readonly read: () => Promise<Values>;
  readonly copy: ValuesCopy;
  readonly source: Source;
  /** Null: nothing was read yet. */
  readonly cursor: string | null;
  /** What the program runs with. */
  readonly records: readonly ValueRecord[];
  readonly kept: readonly KeptRecord[];
  readonly signal: AbortSignal;
  readonly take: (records: readonly ValueRecord[]) => Promise<void>;
}

/** Waits for changes until the signal aborts. A fault of new values leaves the program as it is, and is told. */
async function follow(rest: Rest, following: Following): Promise<void> {
  const { read, copy, source, signal, take } = following;
  let { cursor, records, kept } = following;
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (cursor === null) {
        const values = await read();
        cursor = values.cursor;
        kept = values.kept;
        if (isSame(values.records, records)) copy.save(kept);
        else await takeNew(values, take, copy);
        records = values.records;
      }
      const page = await rest.api.changesPage(
        { since: cursor ?? undefined, namespace: source.namespace, wait: LIMITS.changesWaitS },
        { signal },
      );
      failures = 0;
      cursor = page.next;
      if (!page.changes.some(({ key }) => key === undefined || concerns(key, source))) {
        // Nothing has changed: the values are those of now.
        copy.confirm(kept);
        continue;
      }
      await pause(GATHER_MS, undefined, { signal });
      cursor = null;
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error)) await copy.remove();
      const isLost = error instanceof ApiError && error.status === 410;
      if (isLost) cursor = null;
      else if (!isAway(error)) {
        say(`changes are not followed any more: ${(commandFault(error, rest.origin) as Error).message}`);
        return;
      }
      failures++;
      await pause(backoffMs(failures, RETRY), undefined, { signal }).catch(() => undefined);
    }
  }
}

async function takeNew({ records, kept }: Values, take: Following['take'], copy: ValuesCopy): Promise<void> {
  try {
    // Nobody empties a namespace on purpose under a program that runs from it.
    if (records.length === 0) throw new InputError('there are no records any more');
    await take(records);
    copy.save(kept);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    say(`the program keeps its values: ${error.message}`);
  }
}

function concerns(key: string, { resource }: Source): boolean {
  return resource === undefined || key.split('.').at(-3) === resource;
}

function isSame(one: readonly ValueRecord[], other: readonly ValueRecord[]): boolean {
  if (one.length !== other.length) return false;
  const present = new Map(other.map(({ key, data }) => [key, data]));
  return one.every(({ key, data }) => present.get(key)?.equals(data) === true);
}

/** On stderr: the output is the program's. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
