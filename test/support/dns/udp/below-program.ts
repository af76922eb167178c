/** A program for a network namespace of its own: runs the scenarios whose name contains its argument, and prints a line of JSON for each. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCENARIOS } from './below-scenarios.ts';
import { buildFramePort, openBelow } from './below-world.ts';

export interface Outcome {
  readonly name: string;
  readonly error: string | null;
}

/** For a scenario that waits for what never comes, so that those after it are told. Each takes at most five seconds, on a slow machine too. */
const PATIENCE_MS = 30_000;

async function withinPatience(work: Promise<void>): Promise<void> {
  const limit = sleep(PATIENCE_MS).then(() => {
    throw new Error(`waited ${PATIENCE_MS} ms for what did not come`);
  });
  await Promise.race([work, limit]);
}

/** Each has a pair of interfaces of its own. */
async function runAll(only: string): Promise<void> {
  const built = mkdtempSync(join(tmpdir(), 'uqrp-below-'));
  const helper = buildFramePort(built);
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (!name.includes(only)) continue;
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-below-'));
    let error: string | null = null;
    const below = await openBelow(dir, helper);
    try {
      await withinPatience(scenario(below));
    } catch (thrown) {
      error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    } finally {
      await below.close();
      rmSync(dir, { recursive: true, force: true });
    }
    process.stdout.write(`${JSON.stringify({ name, error } satisfies Outcome)}\n`);
  }
  rmSync(built, { recursive: true });
}

await runAll(process.argv[2] ?? '');
// What a scenario that failed left open must not keep this process.
process.exit(0);
