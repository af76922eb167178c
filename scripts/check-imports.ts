/**
 * Checks the table of allowed imports (import-rules.ts) with dependency-cruiser. Rules that no import graph shows are
 * checked on the files' text. Prints every fault and exits 1; exits 0 with the number of modules and imports.
 */
import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import { cruise, type ICruiseResult, type IForbiddenRuleType } from 'dependency-cruiser';
import {
  DASHBOARD_IMPORTS,
  FLAG_RULES,
  MODULES,
  RESTRICTED_IMPORTS,
  SDK_ENTRIES,
  SDK_IMPORTS,
  TEST_FILES,
  WALLS,
  WORDS,
} from './import-rules.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FOLDERS = ['src', 'scripts', 'test', 'bench', 'dashboard', 'sdk'];
/** With fewer files the check fails. */
const MODULES_MIN = 80;

/** Paths under src/: `core` is a folder, `main.ts` a file. */
function pathOf(module: string): string {
  if (module === 'sdk') return SDK_ENTRIES;
  if (module === FLAG_RULES) return `^${module.replaceAll('.', String.raw`\.`)}$`;
  const escaped = module.replaceAll('.', String.raw`\.`);
  return module.endsWith('.ts') ? `^src/${escaped}$` : `^src/${escaped}/`;
}

/** What is cruised. Only imports of values are restricted: imports of types do not exist at run time. */
const RULES: readonly IForbiddenRuleType[] = [
  ...[...MODULES, ...WALLS].map(({ module, may }) => ({
    name: `${module}-imports-a-module-that-its-row-does-not-name`,
    from: { path: pathOf(module), pathNot: TEST_FILES },
    to: { path: '^(?:src|sdk)/', pathNot: [module, ...may].map(pathOf) },
  })),
  ...RESTRICTED_IMPORTS.map(({ name, module, only, why }) => ({
    name: `${name}-is-for-${only.join('-and-')}`,
    comment: why,
    from: { path: '^src/', pathNot: [TEST_FILES, ...only.map(pathOf)] },
    to: { path: module, dependencyTypesNot: ['type-only' as const] },
  })),
  // The SDK and the dashboard run in browsers. Of src/ they use the protocol: what they need of a server they ask it for.
  {
    name: 'the-sdk-imports-itself-and-the-protocol',
    from: { path: '^sdk/src/', pathNot: TEST_FILES },
    to: { pathNot: ['^sdk/src/', ...SDK_IMPORTS] },
  },
  {
    name: 'no-module-of-node-behind-the-sdk-and-the-dashboard',
    from: { path: '^(?:sdk|dashboard)/src/', pathNot: TEST_FILES },
    to: { path: `^(?:node:)?(?:${builtinModules.join('|')})$`, reachable: true },
  },
  {
    name: 'the-dashboard-imports-itself-the-sdk-the-protocol-and-its-libraries',
    from: { path: '^dashboard/src/', pathNot: TEST_FILES },
    to: { pathNot: ['^dashboard/src/', ...DASHBOARD_IMPORTS] },
  },
  {
    name: 'only-tests-import-the-dashboard',
    from: { path: '^(?:src|scripts|bench|sdk)/' },
    to: { path: '^dashboard/' },
  },
  { name: 'no-circles', from: {}, to: { circular: true } },
  { name: 'every-import-resolves', from: {}, to: { couldNotResolve: true } },
  {
    name: 'tests-are-imported-by-tests',
    from: { path: '^src/', pathNot: TEST_FILES },
    to: { path: TEST_FILES },
  },
  {
    name: 'the-product-needs-no-development-package',
    from: { path: '^src/', pathNot: TEST_FILES },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'src-stands-alone',
    from: { path: '^src/', pathNot: TEST_FILES },
    to: { path: '^(?:scripts|test|bench)/' },
  },
];

async function graph(): Promise<ICruiseResult> {
  const { output } = await cruise(
    FOLDERS,
    {
      baseDir: ROOT,
      validate: true,
      ruleSet: { forbidden: RULES.map((rule) => ({ ...rule, severity: 'error' })) },
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

/** dependency-cruiser can find no modules and exit 0. An empty result proves nothing. */
function blindness({ modules }: ICruiseResult, files: readonly string[]): string[] {
  const seen = new Set(modules.map(({ source }) => source));
  const ours = modules.filter(({ source }) => source.startsWith('src/'));
  const imports = ours.flatMap(({ dependencies }) => dependencies).length;
  return [
    ...(files.length < MODULES_MIN ? [`only ${files.length} files, at least ${MODULES_MIN} expected`] : []),
    ...files.filter((file) => !seen.has(file)).map((file) => `${file}: not seen by dependency-cruiser`),
    ...(imports < ours.length ? [`only ${imports} imports seen in ${ours.length} modules`] : []),
  ];
}

function violations({ summary }: ICruiseResult): string[] {
  return summary.violations.map(({ from, to, rule, comment, cycle }) => {
    const path = cycle === undefined ? to : cycle.map(({ name }) => name).join(' -> ');
    return `${from} -> ${path}: ${rule.name}${comment === undefined ? '' : ` (${comment})`}`;
  });
}

/** Rules that no import graph shows: files without a row, barrels, words outside their allowed files. */
function textFaults(files: readonly string[]): string[] {
  const rows = MODULES.map(({ module }) => new RegExp(pathOf(module)));
  return files.flatMap((file) => {
    const faults = /(?:^|\/)index\.ts$/.test(file) ? ['no index.ts'] : [];
    if (file.startsWith('src/') && !new RegExp(TEST_FILES).test(file)) {
      if (!rows.some((row) => row.test(file))) faults.push('its module has no row in import-rules.ts');
      // Without comment blocks, and lines from ` //` on.
      const text = readFileSync(ROOT + file, 'utf8')
        .replace(/\/\*[\s\S]*?\*\//g, '')
        .replace(/(^|\s)\/\/.*$/gm, '$1');
      const words = WORDS.filter(({ pattern, only }) => pattern.test(text) && !only.test(file));
      faults.push(...words.map(({ name, why }) => `${name} (${why})`));
    }
    return faults.map((fault) => `${file}: ${fault}`);
  });
}

/** Compares the table of docs/ARCHITECTURE.md with the rules. */
function documentationFaults(): string[] {
  const page = readFileSync(`${ROOT}docs/ARCHITECTURE.md`, 'utf8').replaceAll('`', '');
  return MODULES.map(({ module, may }) => `| ${module} | ${may.join(', ') || 'nothing'} |`)
    .filter((row) => !page.includes(`\n${row}\n`))
    .map((row) => `docs/ARCHITECTURE.md: its table of modules lacks this row: ${row}`);
}

const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: ROOT })).filter(
  (file) => !/\.d\.ts$|(?:^|\/)node_modules\/|^(?:dashboard|sdk)\/dist\//.test(file),
);
const result = await graph();
const faults = [
  ...blindness(result, files),
  ...violations(result),
  ...textFaults(files),
  ...documentationFaults(),
];
for (const fault of faults) process.stderr.write(`${fault}\n`);
const imports = result.summary.totalDependenciesCruised ?? 0;
process.stdout.write(`imports: ${files.length} files, ${imports} imports, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
