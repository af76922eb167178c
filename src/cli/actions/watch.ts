import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { InputError } from '../../base/errors.ts';
import { replaceFileSync } from '../../base/files.ts';
import { backoffMs } from '../../base/lifecycle/loop.ts';
import { LIMITS } from '../../base/limits.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { commandConfig } from '../context.ts';
import { escapeControls, print } from '../output.ts';
import { acceptedBody, openRest, type RestClient, refusalOf } from '../rest.ts';

export interface WatchOptions {
  /** A cursor. */
  readonly since?: string;
  /** File that keeps the cursor. */
  readonly state?: string;
  /** Shell command, run for each change. */
  readonly exec?: string;
  readonly api?: string;
}

/** Between attempts of a command that fails, and to reach a server that does not answer. Milliseconds. */
const RETRY = { firstMs: 1_000, capMs: 60_000 };
/** Longer than the server waits. */
const DEADLINE_MS = LIMITS.changesWaitS * 1000 + 15_000;

interface Row {
  readonly cursor: string;
  readonly event: string;
  readonly namespace: string;
  readonly key: string | undefined;
  readonly etag: string | undefined;
  /** As the server sent it. */
  readonly source: JsonObject;
}

/**
 * Prints each change, or runs a command for it, until the process is stopped. The cursor is kept once the command has ended well: a change
 * whose command fails comes again, after 1, 2, 4 ... 60 s.
 * @throws InputError when the credential or a parameter is refused
 */
export async function watchChanges(
  namespace: string | undefined,
  options: WatchOptions,
  json: boolean,
): Promise<void> {
  const rest = openRest(options.api, commandConfig());
  const filter = namespace === undefined ? '' : `&namespace=${encodeURIComponent(namespace)}`;
  let cursor = options.since ?? storedCursor(options.state) ?? (await presentEnd(rest));
  keep(options.state, cursor);
  for (let failures = 0; ; ) {
    const reply = await rest
      .send('GET', `/changes?since=${encodeURIComponent(cursor)}&wait=${LIMITS.changesWaitS}${filter}`, {
        deadlineMs: DEADLINE_MS,
      })
      .catch((error: unknown) => error as InputError);
    const isPassing = reply instanceof Error || reply.status === 429 || reply.status >= 500;
    if (isPassing) {
      const error = reply instanceof Error ? reply : refusalOf(reply, rest.origin);
      process.stderr.write(`${error.message}\n`);
      await pause(backoffMs(++failures, RETRY));
      continue;
    }
    failures = 0;
    if (reply.status === 410) {
      const next = await presentEnd(rest);
      process.stderr.write(
        `changes are missing (${refusalOf(reply, rest.origin).message}): read everything again\n`,
      );
      const source = { event: 'reset', cursor: next };
      await handle(
        { ...source, namespace: namespace ?? '', key: undefined, etag: undefined, source },
        options,
        json,
      );
      cursor = next;
      keep(options.state, cursor);
      continue;
    }
    const page = acceptedBody(reply, rest.origin);
    for (const row of rowsOf(page)) {
      await handle(row, options, json);
      keep(options.state, row.cursor);
    }
    cursor = nextOf(page, rest);
    keep(options.state, cursor);
  }
}

function rowsOf({ changes }: JsonObject): readonly Row[] {
  return (Array.isArray(changes) ? (changes as unknown[]) : []).filter(isJsonObject).map((source) => {
    const { cursor, event, namespace, key, etag } = source as Record<string, string | undefined>;
    return { cursor: cursor ?? '', event: event ?? '', namespace: namespace ?? '', key, etag, source };
  });
}

function nextOf({ next }: JsonObject, { origin }: RestClient): string {
  if (typeof next !== 'string')
    throw new InputError(`${origin} is no REST server of uqrp that tells of changes`);
  return next;
}

async function presentEnd(rest: RestClient): Promise<string> {
  return nextOf(acceptedBody(await rest.send('GET', '/changes'), rest.origin), rest);
}

function storedCursor(file: string | undefined): string | undefined {
  if (file === undefined || !existsSync(file)) return undefined;
  return readFileSync(file, 'utf8').trim();
}

function keep(file: string | undefined, cursor: string): void {
  if (file !== undefined) replaceFileSync(file, `${cursor}\n`, 0o600);
}

async function handle(row: Row, { exec }: WatchOptions, json: boolean): Promise<void> {
  if (json || exec === undefined) print(json ? JSON.stringify(row.source) : lineOf(row));
  if (exec === undefined) return;
  for (let failures = 0; ; ) {
    const code = await run(exec, row);
    if (code === 0) return;
    const waitMs = backoffMs(++failures, RETRY);
    process.stderr.write(`the command ended with ${code}; again in ${waitMs / 1000} s\n`);
    await pause(waitMs);
  }
}

function lineOf({ event, namespace, key, source }: Row): string {
  const at = typeof source.at === 'string' ? `${source.at} ` : '';
  return escapeControls(`${at}${event} ${key ?? namespace}`.trimEnd());
}

/** @returns its exit code, or the name of the signal that ended it */
async function run(command: string, { event, namespace, key, etag, cursor }: Row): Promise<number | string> {
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...readEnvironment(),
      UQRP_EVENT: event,
      UQRP_KEY: key ?? '',
      UQRP_NAMESPACE: namespace,
      UQRP_ETAG: etag ?? '',
      UQRP_CURSOR: cursor,
    },
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return code ?? signal ?? 1;
}
