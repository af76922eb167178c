import { setTimeout as sleep } from 'node:timers/promises';
import type { PayloadOpener } from '../../../sdk/src/encryption.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { type Environment, readEnvironment } from '../../ops/config/env.ts';
import { commandConfig } from '../context.ts';
import { type OpenerOptions, openerOf } from '../key-files.ts';
import { goOnWithoutReader } from '../output.ts';
import { commandFault, isAway, openRest } from '../rest.ts';
import { follow } from '../run/follow.ts';
import { type RunningProgram, startProgram, type Variables } from '../run/program.ts';
import { isRefusal, type ValueSource, type Values, valueSource } from '../run/source.ts';
import { openedRecords, type ValueRecord, variablesOf } from '../run/values.ts';
import { openCopy, type ValuesCopy } from '../run/values-copy.ts';
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
  const namespace = options.namespace.toLowerCase();
  const resource = options.resource?.toLowerCase();
  const source = valueSource(rest, namespace, resource);
  const copy = openCopy(
    { origin: rest.origin, namespace, resource, token: env.UQRP_TOKEN ?? '' },
    env,
    clock,
    say,
  );

  const environment = async (records: readonly ValueRecord[]): Promise<Variables> =>
    environmentOf(env, variablesOf(await openedRecords(opener, records), allowed), options);

  const now = offline ? null : await firstValues(source, copy, onChange !== 'ignore');
  if (now !== null && opener !== null) await rememberTimes(opener, copy);
  const records = now?.records ?? (await keptValues(copy, { clock, maxAge }));
  const variables = await environment(records);
  if (records.length === 0) say(`no records in ${resource === undefined ? '' : `${resource}.`}${namespace}`);
  if (now !== null) {
    copy.save(now.kept);
    await copy.flush();
  }

  goOnWithoutReader();
  const program = startProgram(command, variables, umask);
  const ending = new AbortController();
  const following =
    onChange === 'ignore'
      ? null
      : follow({
          source,
          copy,
          cursor: now?.cursor ?? null,
          records,
          kept: now?.kept ?? null,
          signal: ending.signal,
          take: async (changed) => act(program, onChange, await environment(changed)),
          say,
          pause: (ms) => sleep(ms, undefined, { signal: ending.signal }).catch(() => undefined),
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
  source: ValueSource,
  copy: ValuesCopy,
  isFollowed: boolean,
): Promise<(Values & { readonly cursor: string | null }) | null> {
  try {
    // The cursor before the records: a change between the two is not missed.
    const cursor = isFollowed ? await source.cursor() : null;
    return { ...(await source.read()), cursor };
  } catch (error) {
    if (isRefusal(error)) await copy.remove();
    const fault = commandFault(error, source.origin);
    if (!isAway(error)) throw fault;
    say((fault as Error).message);
    return null;
  }
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

/** On stderr: the output is the program's. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
