/**
 * Builds the documents: README, docs/ and what `pages.ts` names become `dashboard/dist/docs`, which the server reads (`src/http/pages/documents.ts`)
 * and `npm run docs:site` copies. Does nothing when no document and no asset has changed. Runs after the build of the dashboard, whose style it uses.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DocumentsManifest } from '../../src/http/pages/documents.ts';
import type { Assets } from './layout.ts';
import type { Picture } from './markdown.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DIST = join(ROOT, 'dashboard/dist');
const TARGET = join(DIST, 'docs');
/** Sections of these are long and for few: their headings are found, their words are not. */
const BRIEF = /^docs\/(?:adr\/|ATTACKS|STATES|ARCHITECTURE)|^CHANGELOG|^CONTRIBUTING/;

function sourcesHash(links: readonly string[]): string {
  const hash = createHash('sha256').update(links.join());
  const patterns = [
    '*.md',
    'docs/**/*.*',
    '{sdk,deploy}/README.md',
    'dashboard/documents/*.ts',
    'dashboard/src/documents/*.*',
    'src/http/pages/fill.ts',
    'package-lock.json',
  ];
  for (const file of globSync(patterns, { cwd: ROOT }).toSorted())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

/** Style, icon and fonts of the dashboard, as its page names them. */
function linksOfDashboard(): string[] {
  const html = readFileSync(join(DIST, 'index.html'), 'utf8');
  return (html.match(/<link [^>]+>/g) ?? []).filter((link) =>
    /rel="(?:stylesheet|icon)"|as="font"/.test(link),
  );
}

/** Of the script and the style, by the hash of their content. */
async function assets(
  links: readonly string[],
  index: string,
): Promise<{ names: Assets; texts: Map<string, string> }> {
  const { build } = await import('esbuild');
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: ['dashboard/src/documents/main.ts', 'dashboard/src/documents/documents.css'],
    outdir: '/',
    bundle: true,
    format: 'iife',
    target: ['chrome125', 'firefox138', 'safari17.5'],
    minify: true,
    charset: 'utf8',
    write: false,
    logLevel: 'warning',
  });
  const texts = new Map<string, string>();
  const keep = (name: string, extension: string, text: string): string => {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
    const file = `${name}-${hash}${extension}`;
    texts.set(file, text);
    return `/docs/assets/${file}`;
  };
  const textOf = (end: string): string => result.outputFiles.find(({ path }) => path.endsWith(end))!.text;
  return {
    names: {
      links,
      style: keep('documents', '.css', textOf('.css')),
      script: keep('documents', '.js', textOf('.js')),
      search: keep('search', '.json', index),
    },
    texts,
  };
}

/** @returns what it did, for the terminal */
export async function buildDocuments(): Promise<string> {
  const links = linksOfDashboard();
  const hash = sourcesHash(links);
  if (builtHash() === hash) return 'documents: nothing has changed';
  const began = performance.now();
  let modules: typeof import('./markdown.ts');
  try {
    modules = await import('./markdown.ts');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
      return 'documents: not built, because marked is not installed (npm ci installs it)';
    throw error;
  }
  const { render } = modules;
  const { groupsOf, Links, readSources } = await import('./pages.ts');
  const { pageHtml } = await import('./layout.ts');
  const { searchIndex } = await import('./search-index.ts');
  const { llmsText } = await import('./llms.ts');

  const sources = readSources(ROOT);
  const groups = groupsOf(sources);
  const targets = new Links(ROOT, sources);
  const pages = groups
    .flatMap((group) => group.pages)
    .map((page) => {
      const link = (href: string): string | null => targets.resolve(page.path, href);
      const rendered = render(page.text, {
        link,
        title: (href, text) => targets.titleOf(page.path, href, text),
        picture: (href) => pictureAt(href, link, targets.files),
      });
      return { page, rendered };
    });
  const index = searchIndex(
    pages.map(({ page, rendered: { headings } }) => ({
      url: page.url,
      title: page.title,
      headings,
      isBrief: BRIEF.test(page.path),
    })),
  );
  const { names, texts } = await assets(links, JSON.stringify(index));

  rmSync(TARGET, { recursive: true, force: true });
  const manifest: DocumentsManifest = {
    sources: hash,
    pages: {},
    files: {},
    missing: 'missing.html',
    broken: targets.broken,
  };
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(TARGET, file)), { recursive: true });
    writeFileSync(join(TARGET, file), text);
  };
  for (const { page, rendered } of pages) {
    const name = page.url.replace(/^\/docs\/?/, '') || 'index';
    write(`${name}.html`, pageHtml({ assets: names, groups, page, title: page.title, rendered }));
    manifest.pages[page.url] = { html: `${name}.html`, markdown: page.path };
  }
  const nothing = { html: MISSING, headings: [], summary: '' };
  write(
    manifest.missing,
    pageHtml({ assets: names, groups, page: null, title: 'No such page', rendered: nothing }),
  );
  for (const [file, text] of texts) write(`assets/${file}`, text);
  write('llms.txt', llmsText(groups, new Map(pages.map(({ page, rendered }) => [page, rendered.summary]))));
  for (const file of texts.keys())
    manifest.files[`/docs/assets/${file}`] = `dashboard/dist/docs/assets/${file}`;
  for (const [url, path] of targets.files) manifest.files[url] = path;
  write('manifest.json', `${JSON.stringify(manifest, null, 1)}\n`);
  return `documents: ${pages.length} pages in ${Math.round(performance.now() - began)} ms`;
}

const MISSING = `<h1>No such page</h1>
<p>Nothing is at this address. The index has every page, and the search finds words in them.</p>
<p><a href="/docs">To the first page of the documents</a></p>
`;

function builtHash(): string | null {
  try {
    return (JSON.parse(readFileSync(join(TARGET, 'manifest.json'), 'utf8')) as DocumentsManifest).sources;
  } catch {
    return null;
  }
}

/** The width and height keep the text from moving when the picture comes. `NAME-dark.png` is that of the dark theme. */
function pictureAt(
  href: string,
  link: (href: string) => string | null,
  files: ReadonlyMap<string, string>,
): Picture | null {
  const url = link(href);
  const path = url === null ? undefined : files.get(url);
  if (url === null || path === undefined) return null;
  if (!path.endsWith('.png')) return { url, dark: null, width: 0, height: 0 };
  const octets = readFileSync(join(ROOT, path));
  const darkOf = (name: string): string => name.replace(/\.png$/, '-dark.png');
  const dark = existsSync(join(ROOT, darkOf(path))) ? link(darkOf(href)) : null;
  // The first chunk of a PNG file begins with both.
  return { url, dark, width: octets.readUInt32BE(16), height: octets.readUInt32BE(20) };
}
