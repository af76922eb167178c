/** The documents below `/docs`, and `/llms.txt`: files that `dashboard/documents/build.ts` makes, with the names of this server filled in. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS } from '../../base/limits.ts';
import { codedQuickly, type DashboardFile, TYPES, typeOf } from './files.ts';
import { escapeHtml, filled, marked, type ServerNames } from './fill.ts';

/** `dashboard/dist/docs/manifest.json`: what is served, and nothing else is. */
export interface DocumentsManifest {
  /** Hash of everything that the build read. */
  readonly sources: string;
  /** By path, such as `/docs/operations/install`: the page below `dashboard/dist/docs`, and its Markdown below the root. */
  readonly pages: Record<string, { readonly html: string; readonly markdown: string }>;
  /** By path: pictures and other files below the root, as they are. */
  readonly files: Record<string, string>;
  /** The page for an address that has none. */
  readonly missing: string;
  /** Links of documents to files that are in no checkout. A test fails for one. */
  readonly broken: readonly string[];
}

export interface DocumentPages {
  /** Of all pages, such as `/docs/api`. */
  readonly paths: readonly string[];
  /** @returns null: the path is not one of documents. A status of 302 comes with the path to ask for instead. */
  find(path: string): Promise<FoundDocument | null>;
  /** Octets that are held now. */
  heldOctets(): number;
}

export type FoundDocument =
  | { readonly status: 200 | 404; readonly file: DashboardFile }
  | { readonly status: 302; readonly to: string };

type Read = () => Promise<Held>;

interface Held {
  readonly file: DashboardFile;
  readonly octets: () => number;
}

const MARKDOWN = 'text/markdown; charset=utf-8';
const PLAIN = 'text/plain; charset=utf-8';

/**
 * @param root of the checkout or of the package
 * @param names asked at each reading: ports are known when the server listens
 * @returns null when the documents are not built
 */
export function openDocuments(root: string, names: () => ServerNames): DocumentPages | null {
  const built = join(root, 'dashboard/dist/docs');
  const manifest = manifestIn(built);
  if (manifest === null) return null;
  /** In the order of the last use: the first one leaves first. */
  const held = new Map<string, Promise<Held>>();
  const sizes = new Map<string, () => number>();

  const heldOctets = (): number => [...sizes.values()].reduce((sum, octets) => sum + octets(), 0);
  const release = (): void => {
    for (const key of held.keys()) {
      if (held.size <= 1 || heldOctets() <= LIMITS.documentOctets) return;
      held.delete(key);
      sizes.delete(key);
    }
  };
  const take = async (key: string, read: Read): Promise<DashboardFile> => {
    const known = held.get(key);
    const reading = known ?? read();
    held.delete(key);
    held.set(key, reading);
    try {
      const { file, octets } = await reading;
      if (held.get(key) === reading) sizes.set(key, octets);
      release();
      return file;
    } catch (error) {
      // The next request reads again.
      if (held.get(key) === reading) held.delete(key);
      throw error;
    }
  };
  const html = (name: string): Promise<DashboardFile> =>
    take(`/${name}`, async () => {
      const text = await readFile(join(built, name), 'utf8');
      return hold(Buffer.from(filled(text, names(), escapeHtml)), TYPES['.html']![0]);
    });
  const text = (path: string, type: string, isMarked: boolean): Promise<DashboardFile> =>
    take(path, async () => {
      const read = await readFile(join(root, path), 'utf8');
      return hold(Buffer.from(filled(isMarked ? read : marked(read), names(), String)), type);
    });
  const raw = (path: string): Promise<DashboardFile> =>
    take(path, async () => hold(await readFile(join(root, path)), typeOf(path)?.[0] ?? PLAIN, path));

  return {
    paths: Object.keys(manifest.pages),
    heldOctets,
    async find(path) {
      if (path === '/llms.txt')
        return { status: 200, file: await text('dashboard/dist/docs/llms.txt', PLAIN, true) };
      if (path !== '/docs' && !path.startsWith('/docs/')) return null;
      const page = own(manifest.pages, path);
      if (page !== undefined) return { status: 200, file: await html(page.html) };
      const file = own(manifest.files, path);
      if (file !== undefined) return { status: 200, file: await raw(file) };
      const source = path.endsWith('.md') ? own(manifest.pages, pageOfMarkdown(path)) : undefined;
      if (source !== undefined) return { status: 200, file: await text(source.markdown, MARKDOWN, false) };
      const other = path.toLowerCase().replace(/\/+$/, '');
      const to = own(manifest.pages, other) === undefined ? pageOfMarkdown(other) : other;
      if (to !== path && own(manifest.pages, to) !== undefined) return { status: 302, to };
      return { status: 404, file: await html(manifest.missing) };
    },
  };
}

function pageOfMarkdown(path: string): string {
  return path.replace(/\.md$/, '').replace(/^\/docs\/(?:index|readme)$/, '/docs');
}

function own<T>(values: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

function manifestIn(folder: string): DocumentsManifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as DocumentsManifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const HASHED = /-[0-9A-F]{8}\.[a-z]+$/;

/** @param path null: made for this server, so no name has a hash of it */
function hold(content: Buffer, type: string, path: string | null = null): Held {
  const made = new Map<string, Buffer>();
  const file: DashboardFile = {
    type,
    tag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
    isImmutable: path !== null && HASHED.test(path),
    isCompressible: path === null || (typeOf(path)?.[1] ?? true),
    async octets(coding) {
      const known = coding === 'identity' ? content : made.get(coding);
      if (known !== undefined) return known;
      const octets = await codedQuickly(content, coding);
      made.set(coding, octets);
      return octets;
    },
  };
  return {
    file,
    octets: () => [...made.values()].reduce((sum, { length }) => sum + length, content.length),
  };
}
