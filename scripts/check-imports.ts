/**
 * Checks the table of allowed imports (import-rules.ts) with dependency-cruiser. Rules that no import graph shows are
 * checked on the files' text. Prints every fault and exits 1; exits 0 with the number of modules and imports.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser';
import {
  DASHBOARD_IMPORTS,
  MODULES,
  RESTRICTED_IMPORTS,
  SDK_IMPORTS,
  TEST_FILES,
  WALLS,
  WORDS,
} from './import-rules.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FOLDERS = ['src', 'scripts', 'test', 'bench', 'dashboard', 'sdk'];
/** dependency-cruiser can find no modules and exit 0. Below these numbers the check fails. */
const MODULES_MIN = 80;

const isTest = new RegExp(TEST_FILES);

/** Paths under src/: `core` is a folder, `main.ts` a file. */
function pathOf(module: string): string {
  const escaped = module.replaceAll('.', String.raw`\.`);
  return module.endsWith('.ts') ? `^src/${escaped}$` : `^src/${escaped}/`;
}

function moduleRules(): IForbiddenRuleType[] {
  return [...MODULES, ...WALLS].map(({ module, may }) => ({
    name: `${module}-imports-a-module-that-its-row-does-not-name`,
    severity: 'error',
    from: { path: pathOf(module), pathNot: TEST_FILES },
    to: { path: '^src/', pathNot: [module, ...may].map(pathOf) },
  }));
}

/** Only imports of values are restricted: imports of types do not exist at run time. */
function restrictedRules(): IForbiddenRuleType[] {
  return RESTRICTED_IMPORTS.map(({ name, module, only, why }) => ({
    name: `${name}-is-for-${only.join('-and-')}`,
    comment: why,
    severity: 'error',
    from: { path: '^src/', pathNot: [TEST_FILES, ...only.map(pathOf)] },
    to: { path: module, dependencyTypesNot: ['type-only'] },
  }));
}

/** The SDK and the dashboard run in browsers. Of src/ they use the protocol: what they need of a server they ask it for. */
const BROWSER_RULES: readonly IForbiddenRuleType[] = [
  {
    name: 'the-sdk-imports-itself-and-the-protocol',
    severity: 'error',
    from: { path: '^sdk/src/', pathNot: TEST_FILES },
    to: { pathNot: ['^sdk/src/', ...SDK_IMPORTS] },
  },
  {
    name: 'no-module-of-node-behind-the-sdk-and-the-dashboard',
    severity: 'error',
    from: { path: '^(?:sdk|dashboard)/src/', pathNot: TEST_FILES },
    to: { path: `^(?:node:)?(?:${builtinModules.join('|')})$`, reachable: true },
  },
  {
    name: 'the-dashboard-imports-itself-the-sdk-the-protocol-and-its-libraries',
    severity: 'error',
    from: { path: '^dashboard/src/', pathNot: TEST_FILES },
    to: { pathNot: ['^dashboard/src/', ...DASHBOARD_IMPORTS] },
  },
  {
    name: 'only-tests-import-the-dashboard',
    severity: 'error',
    from: { path: '^(?:src|scripts|bench|sdk)/' },
    to: { path: '^dashboard/' },
  },
];

const GENERAL_RULES: readonly IForbiddenRuleType[] = [
  { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
  { name: 'every-import-resolves', severity: 'error', from: {}, to: { couldNotResolve: true } },
  {
    name: 'tests-are-imported-by-tests',
    severity: 'error',
    from: { path: '^src/', pathNot: TEST_FILES },
    to: { path: TEST_FILES },
  },
  {
    name: 'the-product-needs-no-development-package',
    severity: 'error',
    from: { path: '^src/', pathNot: TEST_FILES },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'src-stands-alone',
    severity: 'error',
    from: { path: '^src/', pathNot: TEST_FILES },
    to: { path: '^(?:scripts|test|bench)/' },
  },
];

function filesOnDisk(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter(
        (name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts') && !/^(?:dist|node_modules)\b/.test(name),
      )
      .map((name) => `${folder}/${name.replaceAll(sep, '/')}`),
  );
}

async function graph(): Promise<ICruiseResult> {
  const { output } = await cruise(
    FOLDERS,
    {
      baseDir: ROOT,
      validate: true,
      ruleSet: { forbidden: [...moduleRules(), ...restrictedRules(), ...BROWSER_RULES, ...GENERAL_RULES] },
      // Imports of types count here: a module that uses another's types depends on it.
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '^(?:dashboard|sdk)/dist/' },
    },
    { conditionNames: ['node', 'import', 'default'], exportsFields: ['exports'] },
  );
  if (typeof output === 'string') throw new Error('dependency-cruiser gave text where a graph was asked for');
  return output;
}

/** The cruised modules must be the files of the tree, and must have imports: else an empty result proves nothing. */
function blindness(result: ICruiseResult, files: readonly string[]): string[] {
  const faults: string[] = [];
  const seen = new Set(result.modules.map(({ source }) => source));
  if (files.length < MODULES_MIN) faults.push(`only ${files.length} files, at least ${MODULES_MIN} expected`);
  for (const file of files) if (!seen.has(file)) faults.push(`${file}: not seen by dependency-cruiser`);
  const ours = result.modules.filter(({ source }) => source.startsWith('src/'));
  const imports = ours.flatMap(({ dependencies }) => dependencies).length;
  if (imports < ours.length) faults.push(`only ${imports} imports seen in ${ours.length} modules`);
  return faults;
}

function violations({ summary }: ICruiseResult): string[] {
  return summary.violations.map(({ from, to, rule, comment, cycle }) => {
    const path = cycle === undefined ? to : cycle.map(({ name }) => name).join(' -> ');
    return `${from} -> ${path}: ${rule.name}${comment === undefined ? '' : ` (${comment})`}`;
  });
}

/** Rules that no import graph shows: files without a row, barrels, words outside their allowed files. */
function textFaults(files: readonly string[]): string[] {
  const faults: string[] = [];
  const modules = MODULES.map(({ module }) => new RegExp(pathOf(module)));
  for (const file of files) {
    if (/(?:^|\/)index\.ts$/.test(file)) faults.push(`${file}: no index.ts`);
    if (!file.startsWith('src/') || isTest.test(file)) continue;
    if (!modules.some((module) => module.test(file)))
      faults.push(`${file}: its module has no row in import-rules.ts`);
    const text = withoutComments(readFileSync(ROOT + file, 'utf8'));
    for (const { name, pattern, only, why } of WORDS) {
      if (pattern.test(text) && !only.test(file)) faults.push(`${file}: ${name} (${why})`);
    }
  }
  return faults;
}

/** Removes comment blocks, and lines from ` //` on. It does not parse strings. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** Compares the table of docs/ARCHITECTURE.md with the rules. */
function documentationFaults(): string[] {
  const page = readFileSync(`${ROOT}docs/ARCHITECTURE.md`, 'utf8');
  const rows = [...page.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(
    ([, module, may]) => `${module}: ${may}`,
  );
  const printed = rows.map((row) => row.replaceAll('`', ''));
  const wanted = MODULES.map(
    ({ module, may }) => `${module}: ${may.length === 0 ? 'nothing' : may.join(', ')}`,
  );
  return wanted
    .filter((row) => !printed.includes(row))
    .map((row) => `docs/ARCHITECTURE.md: its table of modules lacks this row: ${row}`);
}

const files = filesOnDisk();
const result = await graph();
const faults = [
  ...blindness(result, files),
  ...violations(result),
  ...textFaults(files),
  ...documentationFaults(),
];
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`imports: ${files.length} files, ${summaryOf(result)}, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function summaryOf({ summary }: ICruiseResult): string {
  return `${summary.totalDependenciesCruised ?? 0} imports`;
}
