import { join } from 'node:path';
import { type Files, isMissing, makeFolder, replaceFile, systemFiles } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { sumsOf, type UsageBatch } from '../../feed/ports/usage-sink.ts';

/** Counts that could not be sent yet, in a file: a killed process loses what came after its last write. */
export interface UsageSpool {
  /** What an earlier process left. @throws SpoolError for a file that is damaged; system errors */
  read(): Promise<readonly UsageBatch[]>;
  /** Replaces the file in one step; removes it when there is nothing to keep. @throws system errors */
  write(batches: readonly UsageBatch[]): Promise<void>;
  /** Of the file, as far as this process has read or written it. */
  octets(): number;
}

/** The file is not one that this program wrote whole. */
export class SpoolError extends Error {
  override readonly name = 'SpoolError';

  constructor() {
    super('the file of unsent usage counts is damaged');
  }
}

const FILE = 'usage.json';
const FORMAT = 1;
const MODE_FILE = 0o600;
const MODE_DIRECTORY = 0o700;

type SpooledCount = readonly [namespaceId: string, hour: number, answers: number];
type SpooledBatch = readonly [node: string, batch: string, counts: readonly SpooledCount[]];

/**
 * Bounds what an earlier process left: every process of a node that is cut off adds to the file.
 * @returns the newest batches, and how many answers the others held
 */
export function newestBatches(batches: readonly UsageBatch[]): {
  readonly kept: readonly UsageBatch[];
  readonly lost: number;
} {
  let octets = 0;
  let first = batches.length;
  while (first > 0) {
    octets += JSON.stringify(spooled(batches[first - 1]!)).length;
    if (octets > LIMITS.usageSpoolOctets) break;
    first--;
  }
  const counts = batches.slice(0, first).flatMap((batch) => batch.counts);
  return { kept: batches.slice(first), lost: counts.reduce((sum, { answers }) => sum + answers, 0) };
}

/** @param folder made when it is needed */
export function usageSpool(folder: string, files: Files = systemFiles): UsageSpool {
  const path = join(folder, FILE);
  let octets = 0;
  return {
    async read() {
      let text: string;
      try {
        text = (await files.async.read(path)).toString();
      } catch (error) {
        if (isMissing(error)) return [];
        throw error;
      }
      octets = text.length;
      return parse(text);
    },
    async write(batches) {
      if (batches.length === 0) {
        // Not waited for: a batch that comes back after a loss of power is known by its id.
        await files.async.remove(path);
        octets = 0;
        return;
      }
      const text = JSON.stringify({ format: FORMAT, batches: batches.map(spooled) });
      await makeFolder(folder, MODE_DIRECTORY, files);
      await files.async.setMode(folder, MODE_DIRECTORY);
      await replaceFile(path, text, MODE_FILE, files);
      // Ids and numbers: one octet each character.
      octets = text.length;
    },
    octets: () => octets,
  };
}

function spooled({ node, batch, counts }: UsageBatch): SpooledBatch {
  return [node, batch, counts.map(({ namespaceId, hour, answers }) => [namespaceId, hour, answers])];
}

function parse(text: string): readonly UsageBatch[] {
  try {
    const { format, batches } = JSON.parse(text) as { format: unknown; batches: readonly SpooledBatch[] };
    if (format !== FORMAT) throw new SpoolError();
    return batches.map(([node, batch, counts]) => {
      const read = {
        node,
        batch,
        counts: counts.map(([namespaceId, hour, answers]) => ({ namespaceId, hour, answers })),
      };
      // Throws for what a sink would refuse at every attempt.
      sumsOf(read);
      return read;
    });
  } catch {
    throw new SpoolError();
  }
}
