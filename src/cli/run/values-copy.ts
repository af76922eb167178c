/** The last good values of one namespace, for a start while the server is away. */
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import {
  openKnownGood,
  readKnownGood,
  removeDrafts,
  removeKnownGood,
  sealKnownGood,
  writeKnownGood,
} from '../../../sdk/src/last-known-good.ts';
import { makeFolderSync, systemFiles } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import type { Environment } from '../../ops/config/env.ts';
import { parseEnvelope } from '../../protocol/query/envelope.ts';
import type { ValueRecord } from './values.ts';

/** What a copy is of. Another token has another copy: two programs may run with two keys. */
export interface CopySource {
  readonly origin: string;
  readonly namespace: string;
  readonly resource: string | undefined;
  readonly token: string;
}

/** A record as it is kept: the envelope that a DNS server answers with. */
export interface KeptRecord {
  readonly key: string;
  readonly envelope: string;
}

/** Milliseconds between two writes of one process. */
const SPACING_MS = 5000;
/** How old the time in a copy may become while its values are known to be those of now. Milliseconds. */
const CONFIRMED_MS = 600_000;

export interface ValuesCopy {
  /** The values, and when they were read. Null without a copy that opens. @throws LastKnownGoodError for a file that is refused */
  load(): Promise<{ readonly records: readonly ValueRecord[]; readonly saved: number } | null>;
  /** Writes at once, or when 5 s have passed since the last write; `told` gets a failure. */
  save(records: readonly KeptRecord[]): void;
  /** The values of the last `save` are still those of now. Writes their time seldom. */
  confirm(records: readonly KeptRecord[]): void;
  /** `told` gets a failure: a program that runs must not end with it. */
  remove(): Promise<void>;
  /** Writes what waits. */
  flush(): Promise<void>;
}

/** @param told called when values could not be written or removed, with what is to be said */
export function openCopy(
  source: CopySource,
  env: Environment,
  clock: Clock,
  told: (line: string) => void,
): ValuesCopy {
  const folder = stateFolder(env);
  const { origin, namespace, resource = '', token } = source;
  const name = createHash('sha256').update([origin, namespace, resource, token].join('\n')).digest('hex');
  const path = join(folder, `${name.slice(0, 32)}.lkg`);
  let waiting: { readonly records: readonly KeptRecord[]; readonly saved: number } | null = null;
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;
  let lastWrite = Number.NEGATIVE_INFINITY;

  const write = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting === null) return;
    const { records, saved } = waiting;
    waiting = null;
    lastWrite = performance.now();
    try {
      makePrivate(folder);
      await removeDrafts(path, clock());
      const entries = new Map(records.map(({ key, envelope }) => [key, { text: envelope, at: saved }]));
      await writeKnownGood(path, await sealKnownGood(token, { saved, entries }));
    } catch (error) {
      told(`the values are not kept: ${reasonOf(error)}`);
    }
  };
  const flush = (): Promise<void> => {
    writing = writing.then(write);
    return writing;
  };
  const save = (records: readonly KeptRecord[]): void => {
    waiting = { records, saved: clock() };
    const pause = lastWrite + SPACING_MS - performance.now();
    if (pause <= 0) void flush();
    else timer ??= setTimeout(() => void flush(), pause).unref();
  };
  return {
    async load() {
      const octets = await readKnownGood(path);
      const known = octets === null ? null : await openKnownGood(token, octets);
      if (known === null) return null;
      const records = [...known.entries].map(([key, { text }]) => ({ key, data: payloadOf(text) }));
      return { records, saved: known.saved };
    },
    save,
    confirm(records) {
      if (performance.now() - lastWrite > CONFIRMED_MS) save(records);
    },
    async remove() {
      waiting = null;
      await writing;
      try {
        await removeKnownGood(path);
      } catch (error) {
        told(`the copy of the values is not removed: ${reasonOf(error)}`);
      }
    },
    flush,
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'failed';
}

function payloadOf(envelope: string): Buffer {
  return Buffer.from(parseEnvelope(envelope)?.data ?? []);
}

/** `uqrp` in the folder that the XDG Base Directory Specification names; a relative path does not count there. */
function stateFolder({ XDG_STATE_HOME = '' }: Environment): string {
  return join(isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(homedir(), '.local/state'), 'uqrp');
}

function makePrivate(folder: string): void {
  makeFolderSync(folder, 0o700);
  if ((systemFiles.facts(folder)!.mode & 0o077) !== 0) systemFiles.setMode(folder, 0o700);
}
