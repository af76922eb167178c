/** The built dashboard, in memory. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import { LIMITS } from '../../base/limits.ts';

/** Which content coding a client takes (RFC 9110 §12.5.3). */

export type Coding = 'br' | 'gzip' | 'identity';

const ZERO = /^0(?:\.0{0,3})?$/;

/** The smallest coding that the client takes. @param header `Accept-Encoding` */
export function bestCoding(header: string | undefined): Coding {
  if (acceptedCodings(header).has('br')) return 'br';
  return acceptsGzip(header) ? 'gzip' : 'identity';
}

/** @param header `Accept-Encoding` */
export function acceptsGzip(header: string | undefined): boolean {
  const accepted = acceptedCodings(header);
  return accepted.has('gzip') || accepted.has('x-gzip');
}

function acceptedCodings(header: string | undefined): ReadonlySet<string> {
  const accepted = new Set<string>();
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const isRefused = parameters.some((text) => text.startsWith('q=') && ZERO.test(text.slice(2)));
    if (!isRefused) accepted.add(name);
  }
  return accepted;
}

export interface DashboardFile {
  readonly type: string;
  /** Entity tag of the content, whatever its coding. */
  readonly tag: string;
  /** Its name has a hash of its content. */
  readonly isImmutable: boolean;
  readonly isCompressible: boolean;
  /** Compresses once, at the first call for each coding. */
  octets(coding: Coding): Promise<Buffer>;
}

export interface DashboardFiles {
  /** Documents as the build wrote them, which `front.ts` fills in. */
  readonly html: {
    /** The one page, which shows the screen of its path. */
    readonly shell: string;
    /** The first page of visitors. */
    readonly landing: string;
  };
  /** Path of the picture that previews of links show; null: there is none. */
  readonly picture: string | null;
  /** By path, such as `/assets/main-AB12CD34.js`. */
  readonly files: ReadonlyMap<string, DashboardFile>;
}

/** Media types by extension, and whether compression helps. Files of other types are not served. */
export const TYPES: Readonly<Record<string, readonly [type: string, isCompressible: boolean]>> = {
  '.css': ['text/css; charset=utf-8', true],
  '.html': ['text/html; charset=utf-8', true],
  '.ico': ['image/x-icon', true],
  '.js': ['text/javascript; charset=utf-8', true],
  '.json': ['application/json; charset=utf-8', true],
  '.png': ['image/png', false],
  '.svg': ['image/svg+xml', true],
  '.webmanifest': ['application/manifest+json', true],
  '.woff2': ['font/woff2', false],
};

/** @returns undefined: a type that only documents have */
export function typeOf(path: string): readonly [type: string, isCompressible: boolean] | undefined {
  return TYPES[extname(path)];
}

const SHELL = 'index.html';
const LANDING = 'landing.html';
const PICTURE = /^\/assets\/card-[0-9A-Z]{8}\.png$/;
/** As esbuild writes them: NAME-HASH.js. */
const HASHED_NAME = /-[0-9A-Z]{8}\.[a-z0-9]+$/;

/**
 * Reads what `dashboard/build.ts` wrote.
 * @returns null when it is not built
 * @throws RangeError above the limit of octets
 */
export function readDashboard(folder: string): DashboardFiles | null {
  const files = new Map<string, DashboardFile>();
  const html = new Map<string, string>();
  let octets = 0;
  for (const path of filesBelow(folder)) {
    const known = typeOf(path);
    const isPage = path === SHELL || path === LANDING;
    // What is served has a name by its content, apart from the pages: `manifest.json` is for tests.
    if (known === undefined || (!path.startsWith('assets/') && !isPage)) continue;
    const content = readFileSync(join(folder, path));
    octets += content.length;
    if (octets > LIMITS.dashboardOctets)
      throw new RangeError(`the files in ${folder} have more than ${LIMITS.dashboardOctets} octets`);
    if (isPage) html.set(path, content.toString());
    else
      files.set(
        `/${path}`,
        fileOf(content, known[0], { isImmutable: HASHED_NAME.test(path), isCompressible: known[1] }),
      );
  }
  const shell = html.get(SHELL);
  const landing = html.get(LANDING);
  if (shell === undefined || landing === undefined) return null;
  const picture = [...files.keys()].find((path) => PICTURE.test(path)) ?? null;
  return { html: { shell, landing }, picture, files };
}

/** A page or a text that is made here. Its name has no hash. */
export function textFile(text: string, type: string): DashboardFile {
  return fileOf(Buffer.from(text), type, { isImmutable: false, isCompressible: true });
}

/** Relative paths. Symbolic links are left out: they may lead anywhere. */
function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function fileOf(
  content: Buffer,
  type: string,
  facts: Pick<DashboardFile, 'isImmutable' | 'isCompressible'>,
): DashboardFile {
  const made = new Map<Coding, Promise<Buffer>>();
  return {
    type,
    tag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
    ...facts,
    octets(coding) {
      const known = made.get(coding);
      if (known !== undefined) return known;
      const making = coded(content, coding);
      made.set(coding, making);
      return making;
    },
  };
}

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

/** For what is compressed while a reader waits, and may be released again: some milliseconds for a page. */
export function codedQuickly(content: Buffer, coding: Coding): Promise<Buffer> {
  return coded(content, coding, { brotli: 5, gzip: 6 });
}

const HIGHEST = { brotli: zlib.BROTLI_MAX_QUALITY, gzip: zlib.Z_BEST_COMPRESSION };

/** In a thread of Node's pool: the highest qualities take a third of a second in all. */
function coded(content: Buffer, coding: Coding, quality = HIGHEST): Promise<Buffer> {
  switch (coding) {
    case 'br':
      return brotli(content, {
        params: {
          [zlib.BROTLI_PARAM_QUALITY]: quality.brotli,
          [zlib.BROTLI_PARAM_SIZE_HINT]: content.length,
        },
      });
    case 'gzip':
      return gzipped(content, { level: quality.gzip });
    case 'identity':
      return Promise.resolve(content);
  }
}
