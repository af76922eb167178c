/**
 * Which realistic faults no test finds: `npm run mutate -- PATH... [--sample N] [--seed S] [--jobs J] [--out FILE] [--again FILE]`.
 *
 * A fault of scripts/mutate-kinds.ts that the types refuse is found. Each other one is planted as the file is loaded (plant.ts), and the
 * tests run whose imports lead to the file, the nearest first, to the first one that fails. Without `--sample` all faults of the paths;
 * `--again` repeats those that an `--out` has. Prints every survivor, and the totals of each room. Exit code 1 with a survivor.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { EQUIVALENTS } from './mutate-equivalents.ts';
import { type Mutation, mutationsOf } from './mutate-kinds.ts';
import { planted, plantedEnvironment } from './plant.ts';

interface Outcome extends Mutation {
  readonly result: 'killed' | 'types' | 'survived' | 'no test';
  /** The test that failed, or what the types say. */
  readonly by: string;
  readonly seconds: number;
}

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Files of the first run, which finds nearly everything, and of the second. */
const STAGES = [8, 8] as const;
const TEST_MS = 40_000;
/** Without a line for so long a run stands still, which is found. */
const SILENT_MS = 60_000;
/** Of one run. What has not failed by then counts as passed. */
const STAGE_MS = 100_000;
/** Runs that reach a room without an import of it. */
const SUITES: readonly (readonly [room: RegExp, tests: readonly string[]])[] = [
  [/^src\/(?:feed|view|dns)\//, ['test/simulation/simulation.test.ts']],
  [/^src\/(?:process|ops)\//, ['test/e2e/rest-dns.test.ts']],
];

/** Tests that start a command of the program, before all others: by imports every test that starts a server is as near. */
const COMMANDS: readonly (readonly [room: RegExp, tests: readonly string[]])[] = [
  [/^src\/cli\/(?:actions\/apply|apply\/|diff)/, ['apply', 'encryption-commands']],
  [/^src\/cli\/(?:key-files|actions\/(?:keys|reencrypt|put-input))/, ['encryption-commands', 'run-command']],
  [/^src\/cli\/(?:run\/|actions\/run)/, ['run-command', 'run-changes']],
  [
    /^src\/cli\/(?:transparency|actions\/verify)/,
    ['transparency', 'log-prove', 'log-audit', 'witness-commands', 'dataset-commands'],
  ],
  [/^src\/cli\/actions\/dnssec/, ['rollover', 'zones']],
  [/^src\/cli\/actions\/feed/, ['feed-commands', 'way-back']],
  [/^src\/cli\/actions\/datasets/, ['dataset-commands', 'datasets']],
  [/^src\/cli\/actions\/(?:operator|audit)/, ['command-line', 'audit', 'membership']],
  [/^src\/cli\/actions\/(?:transfer|history)/, ['history-commands', 'record-commands', 'apply', 'audit']],
  [/^src\/cli\/actions\/upkeep/, ['backup', 'doctor']],
  [/^src\/cli\/actions\/watch/, ['watch']],
  [/^src\/cli\//, ['record-commands', 'command-line', 'read-command', 'plain-commands']],
];

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const isTest = (file: string): boolean => file.endsWith('.test.ts');
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** What each file imports at run time, by files; a path in `new URL` counts, for threads and programs are started so. */
function importsOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const pattern =
    /^(?:import|export)\b(?!\s+type\b)[^;'"]*?from '(\.[^']+)'|\bimport\(\s*'(\.[^']+)'|^import '(\.[^']+)'|new URL\(\s*'(\.[^']+\.ts)'/gm;
  return new Map(
    files.map((file) => [
      file,
      [...read(file).matchAll(pattern)].map((match) =>
        join(dirname(file), match.slice(1).find((path) => path !== undefined)!),
      ),
    ]),
  );
}

/** Tests that load the file, the nearest first. */
function testsOf(file: string, importers: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const distance = new Map([[file, 0]]);
  for (const [at, steps] of distance)
    for (const importer of importers.get(at) ?? [])
      if (!distance.has(importer)) distance.set(importer, steps + 1);
  const stem = file.replace(/\.ts$/, '');
  const farness = (test: string): number =>
    distance.get(test)! -
    (dirname(test) === dirname(file) ? 1.5 : 0) -
    (test.startsWith(stem) ? 2 : 0) +
    (test.startsWith('test/e2e/') ? 3 : 0);
  const suites = SUITES.filter(([room]) => room.test(file)).flatMap(([, tests]) => tests);
  const nearest = [...distance.keys()]
    .filter(isTest)
    .toSorted((a, b) => farness(a) - farness(b) || (a < b ? -1 : 1));
  const first = nearest.slice(0, STAGES[0]);
  const commands = COMMANDS.find(([room]) => room.test(file))?.[1] ?? [];
  const started = commands.map((name) => `test/e2e/${name}.test.ts`);
  const own = nearest.filter((test) => dirname(test) === dirname(file));
  return [
    ...new Set([...(started.length > 0 ? own : []), ...started, ...first, ...suites, ...nearest]),
  ].slice(0, STAGES[0] + STAGES[1]);
}

const running = new Set<ChildProcess>();
const failed = /^\s*not ok \d+ - (?!.*# (?:TODO|SKIP))(.*)/;

let folder: string | null = null;

/** A folder that looks like the project's root. A faulty program that writes files where it stands writes them there. */
function rootLike(): string {
  const path = mkdtempSync(join(tmpdir(), 'uqrp-mutate-'));
  for (const name of readdirSync(ROOT)) symlinkSync(join(ROOT, name), join(path, name));
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs test files up to the first that fails. @returns what failed and in which file, or null */
async function failureOf(
  files: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly test: string; readonly file: string } | null> {
  folder ??= rootLike();
  const flags = ['--test', '--test-isolation=none', `--test-timeout=${TEST_MS}`, '--test-reporter=tap'];
  const child = spawn(process.execPath, [...flags, ...files.map((file) => join(ROOT, file))], {
    cwd: folder,
    env: { ...process.env, ...environment, NODE_TEST_CONTEXT: undefined },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  running.add(child);
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const began = performance.now();
  let heard = began;
  let test: string | null = null;
  const place = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      heard = performance.now();
      test ??= failed.exec(line)?.[1] ?? null;
      const location = /^\s*location: '(.*?):\d+:\d+'/.exec(line);
      if (test !== null && location !== null) resolve(location[1]!.replace(ROOT, ''));
    });
  });
  try {
    for (;;) {
      const seen = await Promise.race([place, ended, sleep(1_000, 'waiting' as const)]);
      if (seen === 'waiting') {
        if (performance.now() - heard > SILENT_MS) return { test: 'stood still', file: '' };
        if (performance.now() - began > STAGE_MS) return null;
      } else if (typeof seen === 'string') return { test: test!, file: seen };
      else return seen === 0 ? null : { test: test ?? `ended with ${child.signalCode ?? seen}`, file: '' };
    }
  } finally {
    await end(child);
  }
}

/** The process alone at first: its database notices that and ends in good order. */
async function end(child: ChildProcess): Promise<void> {
  running.delete(child);
  child.kill('SIGKILL');
  await sleep(300);
  try {
    process.kill(-child.pid!, 'SIGTERM');
  } catch {
    // The group has ended.
  }
}

/** Tests that fail without any fault find nothing. By the files of a run. */
const clean = new Map<string, Promise<boolean>>();

function passesClean(files: readonly string[]): Promise<boolean> {
  const key = files.join(' ');
  const known = clean.get(key) ?? failureOf(files, {}).then((failure) => failure === null);
  clean.set(key, known);
  return known;
}

async function outcomeOf(mutation: Mutation, tests: readonly string[]): Promise<Outcome> {
  const began = performance.now();
  const done = (result: Outcome['result'], by: string): Outcome => ({
    ...mutation,
    result,
    by,
    seconds: Math.round((performance.now() - began) / 100) / 10,
  });
  if (tests.length === 0) return done('no test', '');
  const environment = plantedEnvironment(mutation);
  const stages = [tests.slice(0, STAGES[0]), tests.slice(STAGES[0])].filter((files) => files.length > 0);
  for (let files = stages.shift(); files !== undefined; files = stages.shift()) {
    const failure = await failureOf(files, environment);
    if (failure === null) continue;
    const suspects = isTest(failure.file) ? [failure.file] : files;
    if (await passesClean(suspects)) return done('killed', `${failure.test} (${failure.file || 'the run'})`);
    // Once more without the test that fails by itself.
    const others = files.filter((file) => !suspects.includes(file));
    if (others.length > 0) stages.unshift(others);
  }
  return done('survived', '');
}

/** What the compiler says of a file with a fault in it, beyond what it says of the file as it is. */
function createTypes(): (mutation: Mutation) => string | null {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  let change: { readonly path: string; readonly text: string } | null = null;
  let version = 0;
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () =>
      fileNames.filter((name) => name.startsWith(join(ROOT, 'src/')) && !isTest(name)),
    getScriptVersion: (path) => (change?.path === path ? `${version}` : '0'),
    getScriptSnapshot(path) {
      const text = change?.path === path ? change.text : ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
  });
  return (mutation) => {
    const path = join(ROOT, mutation.file);
    change = { path, text: planted(mutation, ts.sys.readFile(path)!) };
    version++;
    const [first] = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    return first === undefined ? null : ts.flattenDiagnosticMessageText(first.messageText, ' ');
  };
}

const keyOf = ({ file, kind, from, to, text }: Mutation): string => [file, kind, from, to, text].join('\0');

/** Chance that depends on the text alone: the same seed draws the same faults while their lines stay. At most one of each kind in a file. */
function sampleOf(all: readonly Mutation[], size: number, seed: string): readonly Mutation[] {
  const rank = (one: Mutation): string =>
    createHash('sha256')
      .update(`${seed}\0${keyOf(one)}`)
      .digest('hex');
  const ranked = all.map((one) => [rank(one), one] as const).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const perKind = new Map(ranked.toReversed().map(([, one]) => [`${one.file} ${one.kind}`, one]));
  const chosen = new Set(perKind.values());
  return ranked.flatMap(([, one]) => (chosen.has(one) ? [one] : [])).slice(0, size);
}

function isEquivalent({ file, text, kind, to }: Mutation): boolean {
  return EQUIVALENTS.some(
    (one) =>
      one.file === file &&
      text.startsWith(one.text) &&
      (one.kinds?.includes(kind) ?? true) &&
      (one.to === undefined || one.to === to),
  );
}

/** src/control/records, src/http, sdk. */
function roomOf(file: string): string {
  const parts = dirname(file).split('/');
  return parts
    .slice(0, /^src\/(?:control|feed|dns|process)$/.test(parts.slice(0, 2).join('/')) ? 3 : 2)
    .join('/');
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: String(Math.max(1, availableParallelism() >> 1)) },
      out: { type: 'string' },
      again: { type: 'string' },
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void Promise.all([...running].map(end)).then(() => process.exit(1)));
  process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/node');
  const files = globSync('{src,test,sdk/src,scripts}/**/*.ts', { cwd: ROOT });
  const importers = new Map<string, string[]>();
  for (const [file, imports] of importsOf(files))
    for (const one of imports) importers.set(one, [...(importers.get(one) ?? []), file]);
  const again =
    values.again === undefined
      ? null
      : readFileSync(values.again, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Mutation);
  const sources = files.filter((file) =>
    again === null
      ? !isTest(file) && !file.startsWith('test/') && positionals.some((path) => file.startsWith(path))
      : again.some((one) => one.file === file),
  );
  const all = sources.flatMap((file) => mutationsOf(file, read(file))).filter((one) => !isEquivalent(one));
  const wanted = new Set(again?.map(keyOf));
  const known = again === null ? all : all.filter((one) => wanted.delete(keyOf(one)));
  if (wanted.size > 0) print(`${wanted.size} faults are gone with their lines, or equivalent`);
  const waiting = [
    ...(values.sample === undefined ? known : sampleOf(known, Number(values.sample), values.seed)),
  ];
  print(`${waiting.length} of ${known.length} faults in ${sources.length} files`);
  const outcomes: Outcome[] = [];
  let types: ReturnType<typeof createTypes> | null = null;
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      types ??= createTypes();
      const refused = types(next);
      const outcome: Outcome =
        refused === null
          ? await outcomeOf(next, testsOf(next.file, importers))
          : { ...next, result: 'types', by: refused, seconds: 0 };
      outcomes.push(outcome);
      print(lineOf(outcome));
      if (values.out !== undefined) appendFileSync(values.out, `${JSON.stringify(outcome)}\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
  process.exitCode = report(outcomes) === 0 ? 0 : 1;
}

const short = (text: string): string => JSON.stringify(text.length < 160 ? text : `${text.slice(0, 160)}…`);

function lineOf({ result, seconds, file, line, kind, from, to, by }: Outcome): string {
  const place = `${result.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s ${file}:${line} ${kind}`;
  return by === '' ? `${place}: ${short(from)} -> ${short(to)}` : `${place}: ${by}`;
}

/** @returns how many survived */
function report(outcomes: readonly Outcome[]): number {
  const survivors = outcomes.filter(({ result }) => result === 'survived' || result === 'no test');
  print('\nsurvivors:');
  for (const one of survivors) print(`${lineOf(one)}\n                   ${one.text}`);
  print('\nroom                             faults  found  survived');
  const rooms = Map.groupBy(outcomes, ({ file }) => roomOf(file));
  for (const [room, all] of [
    ...[...rooms].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ['all', outcomes] as const,
  ]) {
    const left = all.filter((one) => survivors.includes(one)).length;
    print(
      `${room.padEnd(32)} ${`${all.length}`.padStart(6)} ${`${all.length - left}`.padStart(6)} ${`${left}`.padStart(9)}`,
    );
  }
  return survivors.length;
}

if (import.meta.main) await main();
