/** Which documents become pages, where, in which order, and what a link of one leads to. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

export interface Source {
  /** In the checkout, such as `docs/operations/install.md`. */
  readonly path: string;
  /** `/docs/operations/install` */
  readonly url: string;
  readonly title: string;
  readonly text: string;
}

export interface Group {
  readonly name: string;
  readonly pages: readonly Source[];
}

/** Documents outside of docs/, and their names below /docs. */
const OTHERS: Readonly<Record<string, string>> = {
  'README.md': '',
  'sdk/README.md': 'sdk',
  'deploy/README.md': 'deploy',
  'CHANGELOG.md': 'changelog',
  'CONTRIBUTING.md': 'contributing',
  'SECURITY.md': 'security',
};

/** Of the index, in order. A folder's documents follow the page of its name. A document that is not named is in the last group. */
const GROUPS: readonly (readonly [name: string, ...pages: string[]])[] = [
  ['Start', '', 'first-record', 'dashboard', 'services', 'glossary', 'roadmap', 'changelog'],
  ['Write and read', 'api', 'protocol', 'datasets', 'encryption', 'changes', 'webhooks', 'audit'],
  ['In programs', 'sdk', 'clients', 'recipes', 'recipes-follow', 'run', 'flags', 'devices'],
  ['Operate', 'operations', 'nodes', 'deploy'],
  ['Trust', 'threats', 'security', 'attacks', 'conformance', 'states', 'benchmarks', 'scale'],
  ['The code', 'architecture', 'contributing', 'feed', 'releasing', 'adr'],
];

/** Names in the index that differ from the title of the page. */
const SHORT: Readonly<Record<string, string>> = {
  '': 'Overview',
  deploy: 'Files to deploy',
  'operations/postgresql': 'PostgreSQL',
  'operations/settings': 'Settings',
  run: 'Run programs',
  sdk: 'SDK for JavaScript',
  'services/data': 'Third-party data',
  'services/numbers': 'Numbers and words',
  'services/time-and-place': 'Time and place',
};

/** Files that documents link to are served as they are, under this path. */
export const FILES = '/docs/files/';
/** Of pictures and texts. */
const SERVED = /\.(?:png|svg|json|ya?ml|tsv|txt)$|^NOTICE$|^LICENSE$/;
/** What the package holds (`files` of package.json): other files are on no machine that has only the package. */
const PACKED = /^(?:docs|deploy|device)\/|^NOTICE$|^LICENSE$/;

export function readSources(root: string): Source[] {
  const below = globSync('docs/**/*.md', { cwd: root }).toSorted();
  return [...Object.keys(OTHERS), ...below]
    .filter((path) => existsSync(join(root, path)))
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return { path, url: urlOf(path), title: titleOf(text), text };
    });
}

function urlOf(path: string): string {
  const name = OTHERS[path] ?? path.replace(/^docs\//, '').replace(/\.md$/, '');
  return name === '' ? '/docs' : `/docs/${name.toLowerCase()}`;
}

function titleOf(text: string): string {
  return (/^# (.+)$/m.exec(text)?.[1] ?? 'uqrp').replaceAll('`', '');
}

function nameOf({ url }: Source): string {
  return url.replace(/^\/docs\/?/, '');
}

export function nameInIndex(page: Source): string {
  return SHORT[nameOf(page)] ?? page.title;
}

/** In the order of the index, which is that of `next` and `previous` too. */
export function groupsOf(sources: readonly Source[]): Group[] {
  const left = new Set(sources);
  const take = (isTaken: (name: string) => boolean): Source[] =>
    [...left].filter((source) => isTaken(nameOf(source)) && left.delete(source));
  const groups = GROUPS.map(([name, ...pages]) => ({
    name,
    pages: pages.flatMap((page) => [
      ...take((one) => one === page),
      ...(page === '' ? [] : take((one) => one.startsWith(`${page}/`))),
    ]),
  }));
  const last = groups.at(-1)!;
  return [...groups.slice(0, -1), { name: last.name, pages: [...last.pages, ...left] }];
}

/** Where links of a document lead, and which files they need. */
export class Links {
  /** Paths in the checkout of what is served as it is, by its URL. */
  readonly files = new Map<string, string>();
  /** Links to files that are in no checkout. */
  readonly broken: string[] = [];
  readonly #root: string;
  readonly #pages: ReadonlyMap<string, Source>;

  constructor(root: string, sources: readonly Source[]) {
    this.#root = root;
    this.#pages = new Map(sources.map((source) => [source.path, source]));
  }

  /** Documents name each other by their files, such as `NODES`: their readers know titles. @returns null: the text names no file */
  titleOf(from: string, href: string, text: string): string | null {
    if (!/^[A-Z-]+$/.test(text)) return null;
    const path = normalize(join(dirname(from), href.split('#', 1)[0]!));
    const page = this.#pages.get(path);
    return page !== undefined && basename(path, '.md') === text ? nameInIndex(page) : null;
  }

  /** @returns null: it leads to what only a checkout has */
  resolve(from: string, href: string): string | null {
    if (/^https?:\/\//.test(href)) return href;
    const [path = '', anchor] = href.split('#', 2);
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (path === '') return hash;
    const target = normalize(join(dirname(from), path)).replace(/\/$/, '');
    const page = this.#pages.get(target) ?? this.#pages.get(`${target}/README.md`);
    if (page !== undefined) return `${page.url}${hash}`;
    // The files of deploy/ are listed by the page about them.
    if (target.startsWith('deploy/') && !target.slice(7).includes('.')) return '/docs/deploy';
    if (!existsSync(join(this.#root, target))) this.broken.push(`${from}: ${href}`);
    if (!SERVED.test(target) || !PACKED.test(target) || !existsSync(join(this.#root, target))) return null;
    const url = `${FILES}${target.replace(/^docs\//, '')}`;
    this.files.set(url, target);
    return url;
  }
}
