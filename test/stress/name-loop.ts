/** Searches for a miscompiled loop; see README.md beside this file. `node test/stress/name-loop.ts [MINUTES]` */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

const MINUTES = Number(process.argv[2] ?? 10);
/** Short, so that V8 compiles the loop many times, with on-stack replacement. */
const LIFE_MS = 3000;
const SILENCE_MS = 30_000;
const COMPILERS = [
  ['Maglev', ['--maglev', '--no-turbofan']],
  ['TurboFan', ['--no-maglev', '--turbofan']],
] as const;

interface Tally {
  processes: number;
  comparisons: number;
}

const results = await Promise.all(COMPILERS.map(([name, flags]) => search(name, flags)));
process.exitCode = results.every((isSound) => isSound) ? 0 : 1;

async function search(name: string, flags: readonly string[]): Promise<boolean> {
  const endsAt = Date.now() + MINUTES * 60_000;
  const tally: Tally = { processes: 0, comparisons: 0 };
  for (let seed = 1; Date.now() < endsAt; seed++) {
    const fault = await runOnce(flags, seed, tally);
    if (fault !== null) {
      print(`${name}: ${fault}, seed ${seed}, flags ${flags.join(' ')}, Node ${process.version}`);
      return false;
    }
  }
  print(`${name}: ${tally.processes} processes, ${tally.comparisons} comparisons, none hung, none differed`);
  return true;
}

async function runOnce(flags: readonly string[], seed: number, tally: Tally): Promise<string | null> {
  const file = new URL('./name-loop-child.ts', import.meta.url);
  const child = fork(file, [String(seed), String(LIFE_MS)], { execArgv: [...flags] });
  let compared = 0;
  let fault: string | null = null;
  let silence = watchSilence(child, () => {
    fault = 'a loop did not end';
  });
  child.on('message', (message: { compared?: number; differs?: boolean }) => {
    if (message.differs === true) fault = 'a result differs';
    compared = message.compared ?? compared;
    clearTimeout(silence);
    silence = watchSilence(child, () => {
      fault = 'a loop did not end';
    });
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(silence);
  tally.processes++;
  tally.comparisons += compared;
  if (fault === null && code !== 0) return `a process ended with ${code}`;
  return fault;
}

/** Includes the start of the child, one or two seconds on a busy machine. */
function watchSilence(child: ChildProcess, onSilence: () => void): NodeJS.Timeout {
  return setTimeout(() => {
    onSilence();
    child.kill('SIGKILL');
  }, SILENCE_MS);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
