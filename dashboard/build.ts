/**
 * Builds the dashboard: `dashboard/src` and the parts of `sdk/src` and `src/protocol` that it imports become `dashboard/dist`. Does nothing when no source
 * has changed since the last build. Without esbuild (`npm ci --omit=dev`) it says so and exits 0: the server then serves a page about it.
 *
 *   node dashboard/build.ts            builds when a source has changed
 *   node dashboard/build.ts --force    builds
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildResult, Metafile, OutputFile, Plugin } from 'esbuild';
import { buildDocuments } from './documents/build.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dashboard/dist');
const MANIFEST = join(DIST, 'manifest.json');
/** Browsers that have `light-dark()`, `<dialog>` and JSON modules. */
const TARGETS = ['chrome125', 'firefox138', 'safari17.5'];

const MAIN = 'dashboard/src/main.tsx';
const ROUTES = 'dashboard/src/app/routes.ts';
const LANDING = 'dashboard/src/front/landing.tsx';
/** What previews of links show. */
const CARD = 'dashboard/src/front/card.png';
const LATER_STYLE = 'dashboard/src/style/later.css';

/** What `dist/manifest.json` holds. */
interface Manifest {
  /** Hash of everything that the build reads. */
  readonly sources: string;
  /** Paths below `dist`, with `index.html`. */
  readonly files: readonly string[];
  /** Scripts that a first visit of somebody who is signed in loads. */
  readonly first: readonly string[];
  /** Scripts of the first page of a visitor. */
  readonly landing: readonly string[];
  /** Scripts that are loaded later, by the source that begins each load, without those of the first visit. */
  readonly later: Readonly<Record<string, readonly string[]>>;
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  // The lock file stands for the versions of esbuild and of the libraries.
  const patterns = [
    'dashboard/src/**/*.*',
    '{sdk/src,src/protocol,src/base}/**/*.ts',
    'dashboard/build.ts',
    'package-lock.json',
  ];
  for (const file of globSync(patterns, { cwd: ROOT }).toSorted()) {
    if (file.endsWith('.test.ts')) continue;
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

function builtManifest(): Manifest | null {
  try {
    return JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest;
  } catch {
    return null;
  }
}

/** Texts are files of their own, which the browser imports as JSON modules: they are data, and are kept when only code changes. */
const TEXT = 'dashboard/src/text/en.json';
const DATA = [TEXT, 'dashboard/src/screens/webhooks/receivers/receivers.json'];

interface DataFile {
  readonly source: string;
  /** Below `dist`. */
  readonly path: string;
  readonly contents: string;
}

function dataFile(
  source: string,
  value: unknown = JSON.parse(readFileSync(join(ROOT, source), 'utf8')),
): DataFile {
  const contents = JSON.stringify(value);
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase();
  return { source, path: `assets/${basename(source, '.json')}-${hash}.json`, contents };
}

/** @param first the texts that are imported at once; those that are imported later are all */
function dataPlugin(files: readonly DataFile[], first?: DataFile): Plugin {
  return {
    name: 'data',
    setup(build) {
      build.onResolve({ filter: /\.json$/ }, ({ path, resolveDir, kind }) => {
        const known = first !== undefined && kind === 'import-statement' ? [first, ...files] : files;
        const found = known.find(({ source }) => join(ROOT, source) === join(resolveDir, path));
        return found && { path: `/${found.path}`, external: true };
      });
    },
  };
}

/** The SDK loads these modules for what the dashboard does not ask of it: DNS servers, a last known good file, keys of a reader or a write. */
const UNUSED: Plugin = {
  name: 'unused',
  setup(build) {
    build.onResolve({ filter: /\/(?:node-dns|kept-answers|opener|protect)\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: 'data:text/javascript,', external: true } : undefined,
    );
  },
};

/** The source and every source that it imports statically. @param andLater also those that it loads later, but for the screens of the routes */
function sourcesOf(inputs: Metafile['inputs'], entry: string, andLater = false): string[] {
  const found = new Set([entry]);
  for (const source of found) {
    for (const { path, kind, external } of inputs[source]?.imports ?? []) {
      const isTaken = kind === 'import-statement' || (andLater && source !== ROUTES);
      if (isTaken && external !== true) found.add(path);
    }
  }
  return [...found];
}

/**
 * esbuild makes a file for each set of screens that share a source, so a first visit would load thirty small ones. Each later load names all sources of
 * the first here, which it has anyway: then they are shared by all, and become one file.
 */
function firstInOne(first: readonly string[]): Plugin {
  return {
    name: 'first-in-one',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, async ({ path, kind, importer, resolveDir, pluginData }) => {
        if (kind !== 'dynamic-import' || pluginData === 'found') return;
        const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: 'found' });
        return found.external || found.errors.length > 0
          ? found
          : { path: relative(ROOT, found.path), namespace: 'later' };
      });
      build.onLoad({ filter: /./, namespace: 'later' }, ({ path }) => ({
        contents: [
          ...first.map((source) => `import '${join(ROOT, source)}';`),
          `export * from '${join(ROOT, path)}';`,
        ].join('\n'),
        resolveDir: ROOT,
      }));
    },
  };
}

type Texts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The texts that sources name: `'front.ask'` is one, and `front.step_${…}` stands for all that begin so. */
function textsIn(sources: readonly string[]): Texts {
  const all = JSON.parse(readFileSync(join(ROOT, TEXT), 'utf8')) as Texts;
  const code = sources.map((source) => readFileSync(join(ROOT, source), 'utf8')).join('\n');
  const named: Record<string, Record<string, string>> = {};
  for (const [, section = '', name = '', open] of code.matchAll(/['"`](\w+)\.(\w*)(\$\{)?/g)) {
    for (const [key, text] of Object.entries(all[section] ?? {})) {
      if (open === undefined ? key !== name : !key.startsWith(name)) continue;
      named[section] ??= {};
      named[section][key] = text;
    }
  }
  return named;
}

/** A page that needs few of the texts has them in its script. */
function textPlugin(texts: Texts): Plugin {
  return {
    name: 'texts',
    setup(build) {
      // It never loads the others.
      build.onResolve({ filter: /\.json$/ }, ({ kind }) =>
        kind === 'dynamic-import' ? { path: 'data:application/json,{}', external: true } : undefined,
      );
      build.onLoad({ filter: /\/text\/en\.json$/ }, () => ({
        contents: JSON.stringify(texts),
        loader: 'json',
      }));
    },
  };
}

type Bundle = BuildResult<{ write: false; metafile: true }>;

/** The dashboard, and the first page of visitors: a program of its own, in one file. */
async function bundle(
  data: readonly DataFile[],
): Promise<{ readonly all: Bundle; readonly landing: Bundle; readonly text: DataFile } | null> {
  let esbuild: typeof import('esbuild');
  try {
    esbuild = await import('esbuild');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  }
  const build = (entryPoints: string[], ...plugins: Plugin[]): Promise<Bundle> =>
    esbuild.build({
      absWorkingDir: ROOT,
      entryPoints,
      outdir: DIST,
      entryNames: 'assets/[name]-[hash]',
      chunkNames: 'assets/[name]-[hash]',
      assetNames: 'assets/[name]-[hash]',
      loader: { '.png': 'copy', '.svg': 'copy', '.woff2': 'file' },
      publicPath: '/',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'browser',
      target: TARGETS,
      jsx: 'automatic',
      jsxImportSource: 'preact',
      minify: true,
      legalComments: 'none',
      define: { 'process.env.NODE_ENV': '"production"' },
      write: false,
      metafile: true,
      logLevel: 'warning',
      // Of what has no side effects, the loads below take nothing: it is shared all the same where a screen uses it.
      logOverride: { 'ignored-bare-import': 'silent' },
      plugins: [UNUSED, ...plugins],
      charset: 'utf8',
    });
  const entries = [MAIN, 'dashboard/src/style/app.css', LATER_STYLE, 'dashboard/src/style/icon.svg', CARD];
  const external = dataPlugin(data);
  const [first, visitors] = await Promise.all([build(entries, external), build([LANDING], external)]);
  const { inputs } = first.metafile;
  const text = dataFile(TEXT, textsIn(sourcesOf(inputs, MAIN, true)));
  const [all, landing] = await Promise.all([
    build(entries, dataPlugin(data, text), firstInOne(sourcesOf(inputs, MAIN))),
    build([LANDING], textPlugin(textsIn(Object.keys(visitors.metafile.inputs)))),
  ]);
  return { all, landing, text };
}

/** The script and every script that it imports statically, in the order of loading. */
function scriptsOf(outputs: Metafile['outputs'], entry: string): string[] {
  const found = new Set([entry]);
  for (const path of found) {
    for (const { path: next, kind, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && external !== true) found.add(next);
  }
  return [...found];
}

interface Assets {
  readonly style: string;
  readonly font: string;
  readonly icon: string;
  /** Absent: the script has its texts. */
  readonly text?: string;
}

/** What the head of a page loads. */
function assetLines({ style, font, icon, text }: Assets, [main, ...others]: readonly string[]): string {
  return `<link rel="icon" href="/${icon}" type="image/svg+xml">
<link rel="preload" as="font" type="font/woff2" crossorigin href="/${font}">
<link rel="stylesheet" href="/${style}">
${text === undefined ? '' : `<link rel="modulepreload" as="json" href="/${text}">\n`}${others.map((path) => `<link rel="modulepreload" href="/${path}">\n`).join('')}<script type="module" src="/${main}"></script>`;
}

function pageOf(assets: Assets, laterStyle: string, scripts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>uqrp</title>
<meta name="later-style" content="/${laterStyle}">
${assetLines(assets, scripts)}
</head>
<body>
<noscript>The dashboard needs JavaScript. The REST API is at /api/v1, its description at /api/v1/openapi.json.</noscript>
<div id="app"></div>
</body>
</html>
`;
}

/** At once as a whole: a server may read it, and a second build may write it, at the same time. */
function replaceFile(path: string, contents: string | Uint8Array): void {
  // Not in assets/, which a build clears of what it does not know.
  const temporary = join(DIST, `.new-${process.pid}`);
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

/** Writes new files first and the pages last, so that a page never names a file that is not there yet. */
function writeAll(
  outputs: readonly OutputFile[],
  pages: Readonly<Record<string, string>>,
  manifest: Manifest,
): void {
  mkdirSync(join(DIST, 'assets'), { recursive: true });
  for (const { path, contents } of outputs) {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, contents);
  }
  for (const [name, page] of Object.entries(pages)) replaceFile(join(DIST, name), page);
  replaceFile(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of readdirSync(join(DIST, 'assets'))) {
    if (!manifest.files.includes(`assets/${name}`)) rmSync(join(DIST, 'assets', name), { force: true });
  }
}

async function build(isForced: boolean): Promise<string> {
  const sources = hashOfSources();
  if (!isForced && builtManifest()?.sources === sources) return 'dashboard: nothing has changed';
  const began = performance.now();
  const data = DATA.map((source) => dataFile(source));
  const result = await bundle(data);
  if (result === null) return 'dashboard: not built, because esbuild is not installed (npm ci installs it)';
  const { all, landing: alone, text } = result;
  const { outputs } = all.metafile;
  const outputOf = (source: string): string => {
    const found = Object.entries(outputs).find(
      ([path, { entryPoint, inputs }]) =>
        (entryPoint === source || Object.keys(inputs).join() === source) && !path.endsWith('.map'),
    );
    if (found === undefined) throw new Error(`esbuild wrote nothing for ${source}`);
    return found[0];
  };
  const below = (path: string): string => relative(DIST, join(ROOT, path));
  const first = scriptsOf(outputs, outputOf(MAIN)).map(below);
  const loads = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ kind, external }) => kind === 'dynamic-import' && external !== true),
  );
  const later = Object.fromEntries(
    loads.map(({ path }) => {
      const scripts = scriptsOf(outputs, path).map(below);
      return [
        outputs[path]!.entryPoint!.replace('later:', ''),
        scripts.filter((script) => !first.includes(script)),
      ];
    }),
  );
  const shared = {
    style: below(outputOf('dashboard/src/style/app.css')),
    font: below(Object.keys(outputs).find((path) => path.endsWith('.woff2'))!),
    icon: below(outputOf('dashboard/src/style/icon.svg')),
  };
  const landing = Object.keys(alone.metafile.outputs).map(below);
  const template = readFileSync(join(ROOT, 'dashboard/src/front/landing.html'), 'utf8');
  const pages = {
    'index.html': pageOf({ ...shared, text: text.path }, below(outputOf(LATER_STYLE)), first),
    'landing.html': template.replace('<!--assets-->', () => assetLines(shared, landing)),
  };
  const files = [
    ...Object.keys(outputs).map(below),
    ...landing,
    ...[text, ...data].map(({ path }) => path),
    ...Object.keys(pages),
  ].toSorted();
  mkdirSync(join(DIST, 'assets'), { recursive: true });
  for (const { path, contents } of [text, ...data]) replaceFile(join(DIST, path), contents);
  writeAll([...all.outputFiles, ...alone.outputFiles], pages, { sources, files, first, landing, later });
  return `dashboard: ${files.length} files in ${Math.round(performance.now() - began)} ms`;
}

process.stderr.write(`${await build(process.argv.includes('--force'))}\n`);
if (existsSync(join(DIST, 'index.html'))) process.stderr.write(`${await buildDocuments()}\n`);
