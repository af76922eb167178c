import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import {
  ApiError,
  type ChangeResource,
  type ChangesPage,
  type ChangesPageFilter,
} from '../../../sdk/src/uqrp-sdk.ts';
import { InputError } from '../../base/errors.ts';
import { replaceFileSync } from '../../base/files.ts';
import { backoffMs } from '../../base/lifecycle/loop.ts';
import { LIMITS } from '../../base/limits.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { commandConfig } from '../context.ts';
import { escapeControls, print, stopOnClosedPipe } from '../output.ts';
import { commandFault, isAway, openRest, type Rest } from '../rest.ts';
import { withUmask } from '../umask.ts';

export interface WatchOptions {
  /** A cursor. */
  readonly since?: string;
  /** File that keeps the cursor. */
  readonly state?: string;
  /** Shell command, run for each change. */
  readonly exec?: string;
  readonly api?: string;
}

/** What `watch` runs for each change. */
interface Exec {
  readonly exec?: string;
  /** That of the shell. */
  readonly umask: number | undefined;
}

/** Between attempts of a command that fails, and to reach a server that does not answer. Milliseconds. */
const RETRY = { firstMs: 1_000, capMs: 60_000 };

/** A change, or what tells that changes are missing. */
type Row = Pick<ChangeResource, 'cursor' | 'key' | 'etag'> & {
  readonly event: string;
  readonly namespace?: string;
  readonly at?: string;
};

/**
 * Prints each change, or runs a command for it, until the process is stopped. The cursor is kept once the command has ended well: a change
 * whose command fails comes again, after 1, 2, 4 ... 60 s.
 * @throws InputError when the credential or a parameter is refused
 */
export async function watchChanges(
  namespace: string | undefined,
  options: WatchOptions,
  umask: number | undefined,
  json: boolean,
): Promise<void> {
  const rest = openRest(options.api, commandConfig());
  const { since } = options;
  const action = { ...options, umask };
  if (options.exec === undefined) stopOnClosedPipe();
  let cursor = since ?? storedCursor(options.state) ?? (await presentEnd(rest));
  // One that is given replaces the stored one once the server knows it, which it says at once when it need not wait for a change.
  let isKept = since === undefined;
  if (isKept) keep(options.state, cursor);
  for (;;) {
    const page = await pageOf(rest, { since: cursor, namespace, wait: isKept ? LIMITS.changesWaitS : 0 });
    if (page === null) {
      cursor = nextOf(await pageOf(rest, {}), rest);
      await handle({ event: 'reset', cursor }, namespace ?? '', action, json);
      keep(options.state, cursor);
      isKept = true;
      continue;
    }
    const next = nextOf(page, rest);
    if (!isKept) keep(options.state, cursor);
    isKept = true;
    for (const row of page.changes) {
      await handle(row, row.namespace, action, json);
      keep(options.state, row.cursor);
    }
    cursor = next;
    keep(options.state, cursor);
  }
}

/** Asks until the server is there, after 1, 2, 4 ... 60 s. Null: the server has no changes after the cursor any more. @throws InputError when it refuses */
async function pageOf(rest: Rest, filter: ChangesPageFilter): Promise<ChangesPage | null> {
  for (let failures = 0; ; ) {
    try {
      return await rest.api.changesPage(filter);
    } catch (error) {
      const fault = commandFault(error, rest.origin) as Error;
      if (isAway(error)) {
        process.stderr.write(`${fault.message}\n`);
        await pause(backoffMs(++failures, RETRY));
      } else if (error instanceof ApiError && error.status === 410) {
        process.stderr.write(`changes are missing (${fault.message}): read everything again\n`);
        return null;
      } else throw fault;
    }
  }
}

async function presentEnd(rest: Rest): Promise<string> {
  return nextOf(await rest.read((api) => api.changesPage()), rest);
}

function nextOf(page: Partial<ChangesPage> | null, { origin }: Rest): string {
  const next = page?.next;
  if (next === undefined) throw new InputError(`${origin} is no REST server of uqrp that tells of changes`);
  return next;
}

/** @returns undefined where the file is missing or empty, as `mktemp` makes one */
function storedCursor(file: string | undefined): string | undefined {
  if (file === undefined || !existsSync(file)) return undefined;
  return readFileSync(file, 'utf8').trim() || undefined;
}

function keep(file: string | undefined, cursor: string): void {
  if (file !== undefined) replaceFileSync(file, `${cursor}\n`, 0o600);
}

async function handle(row: Row, namespace: string, { exec, umask }: Exec, json: boolean): Promise<void> {
  if (json || exec === undefined) print(json ? JSON.stringify(row) : lineOf(row, namespace));
  if (exec === undefined) return;
  for (let failures = 0; ; ) {
    const code = await run(exec, row, namespace, umask);
    if (code === 0) return;
    const waitMs = backoffMs(++failures, RETRY);
    process.stderr.write(`the command ended with ${code}; again in ${waitMs / 1000} s\n`);
    await pause(waitMs);
  }
}

function lineOf({ event, key, at }: Row, namespace: string): string {
  const text = `${event} ${key ?? namespace}`.trimEnd();
  return escapeControls(at === undefined ? text : `${at} ${text}`);
}

/** @returns its exit code, or the name of the signal that ended it */
async function run(
  command: string,
  { event, key, etag, cursor }: Row,
  namespace: string,
  umask: number | undefined,
): Promise<number | string> {
  const options: SpawnOptions = {
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
  };
  const child = withUmask(umask, () => spawn(command, options));
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return code ?? signal ?? 1;
}
