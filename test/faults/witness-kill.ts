import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { originHash } from '../../src/witness/database.ts';
import { runCli } from '../support/command.ts';
import { SmallLog } from '../support/protocol/transparency/small-log.ts';
import { startWitness } from '../support/witness-process.ts';

interface WitnessKills {
  readonly kills: number;
  readonly cosigned: number;
  /** Requests that got no answer. */
  readonly unanswered: number;
  /** Of them, checkpoints that the witness had kept all the same. */
  readonly kept: number;
}

/** Histories that a lying log offers at once. Each of them continues what was cosigned last. */
const HISTORIES = 3;

/**
 * Kills a witness with SIGKILL while a log asks it to cosign several histories at once.
 * @param random 0 to 1
 * @throws AssertionError when two checkpoints were cosigned that are not of one history
 */
export async function killWitness(kills: number, random: () => number): Promise<WitnessKills> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-witness-kill-'));
  const env = { UQRP_DATA_DIR: join(folder, 'data') };
  try {
    const told = await runCli(['witness', 'init', 'w.example/1'], env);
    assert.equal(told.code, 0, told.errors);
    /** The one history that was cosigned, as far as it is known. */
    const history = new SmallLog();
    assert.equal((await runCli(['witness', 'trust', history.vkey], env)).code, 0);
    const cosigned: { readonly size: number; readonly root: string }[] = [];
    const report = { unanswered: 0, kept: 0 };
    let offered: readonly SmallLog[] = [];
    const settle = (note: string): void => {
      if (note.startsWith(textOf(history))) return;
      const next = offered.find((one) => note.startsWith(textOf(one)));
      assert.ok(next, `what the witness holds is none of what was offered: ${note}`);
      report.kept++;
      history.leaves.splice(0, history.leaves.length, ...next.leaves);
    };
    for (let kill = 0; kill < kills; kill++) {
      const witness = await startWitness(env);
      const isAlive = (): boolean => witness.child.exitCode === null && witness.child.signalCode === null;
      let timer: NodeJS.Timeout | undefined;
      const killSoon = (): void => {
        timer ??= setTimeout(() => witness.child.kill('SIGKILL'), 20 + random() * 400);
      };
      // The first one once it has cosigned: on a busy machine none would come that far.
      if (cosigned.length > 0) killSoon();
      // What was kept in the round before without an answer. Null: this round has ended already, and the next one asks.
      const held = await heldNote(witness.url, history.origin);
      if (held !== null && held !== '') settle(held);
      while (held !== null) {
        offered = Array.from({ length: HISTORIES }, (_, i) => {
          const next = new SmallLog(history.leaves);
          next.append(`${kill} ${history.leaves.length} ${i}`);
          return next;
        });
        const size = history.leaves.length;
        const answers = await Promise.all(
          offered.map(async (next) => await post(witness.url, next.request(size))),
        );
        for (const [i, answer] of answers.entries()) {
          if (answer === null) report.unanswered++;
          else if (answer === 200) {
            const next = offered[i]!;
            cosigned.push({ size: next.leaves.length, root: hex(next.root()) });
            history.leaves.splice(0, history.leaves.length, ...next.leaves);
            killSoon();
          } else assert.equal(answer, 409);
        }
        if (answers.includes(null)) break;
      }
      if (isAlive()) await witness.exit;
      clearTimeout(timer);
    }
    for (const { size, root } of cosigned) assert.equal(root, hex(history.root(size)), `size ${size}`);
    const sizes = cosigned.map(({ size }) => size);
    assert.deepEqual(sizes, [...new Set(sizes)], 'each size was cosigned once');
    return { kills, cosigned: cosigned.length, ...report };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex');
const textOf = (log: SmallLog): string => log.note().split('\n\n')[0]!;

/** Null: the witness is gone. */
async function post(url: string, body: string): Promise<number | null> {
  try {
    const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    const text = await answer.text();
    return answer.status === 200 && !text.endsWith('\n') ? null : answer.status;
  } catch {
    return null;
  }
}

/** Null: the witness is gone. Empty: it holds none yet. */
async function heldNote(url: string, origin: string): Promise<string | null> {
  try {
    const answer = await fetch(`${url}/${originHash(origin)}/checkpoint`);
    const text = await answer.text();
    return answer.status === 200 ? text : '';
  } catch {
    return null;
  }
}
