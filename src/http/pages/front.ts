/** Pages for people who are not signed in, and what search engines and link previews read of them. */
import { LIMITS } from '../../base/limits.ts';
import { type DashboardFile, type DashboardFiles, textFile } from './files.ts';
import { escapeHtml } from './fill.ts';

/** What the pages say about this server. */
export interface FrontFacts {
  /** False: `/` leads to the sign-in, and nothing is for search engines. */
  readonly isOn: boolean;
  /** Of the program, such as `0.2.0`. */
  readonly version: string;
  /** Whether the operator has named a public origin: only then are there addresses for others. */
  readonly isPublic: boolean;
  readonly zones: readonly string[];
  readonly isSigned: boolean;
  /** Of plain DNS; null while none listens in this process. */
  readonly dns: () => { readonly host: string; readonly port: number } | null;
  /** Each public service, by its name. */
  readonly services: ReadonlyMap<string, DescribedService>;
  /** Paths of the documents. */
  readonly documents: readonly string[];
}

/** What the pages say of a service beside its schema. */
export interface DescribedService {
  readonly title: string;
  readonly description: string;
  /** Names below the zone. */
  readonly examples: readonly string[];
  /** What closed values of fields mean. */
  readonly meanings: readonly {
    /** Values of one kind go together, such as units of length. */
    readonly kind?: string;
    readonly fields: readonly string[];
    readonly values: readonly (readonly [value: string, meaning: string])[];
  }[];
}

interface PageOptions {
  readonly path: string;
  /** The request has no session cookie. */
  readonly isGuest: boolean;
  /** The page of a session that has ended asks for the page of visitors: its cookie is still there. */
  readonly asksForLanding: boolean;
}

export interface Front {
  /** The document of a page. */
  page(options: PageOptions): DashboardFile;
  /** `/robots.txt`, `/sitemap.xml` and `/services.json`; null: not one of these, or not here. */
  file(path: string): DashboardFile | null;
}

const HTML = 'text/html; charset=utf-8';
const DNS_PORT = 53;

interface Head {
  readonly title: string;
  readonly description: string;
}

const LANDING: Head = {
  title: 'uqrp: ask the DNS, it answers with data',
  description:
    'Configuration, feature flags and reference data, written over REST and read by anything that can send a DNS query. Private by default, answers are signed. Units, weather, time, sun, moon, dice and more to try without an account.',
};
const HEADS: ReadonlyMap<string, Head> = new Map([
  ['/', LANDING],
  [
    '/services',
    {
      title: 'Public services over DNS',
      description:
        'Services that answer over DNS to everybody: unit conversion, weather, local time, sun and moon, exchange rates, dice, CIDR and more. Try each in the page.',
    },
  ],
  [
    '/playground',
    {
      title: 'Playground: ask the DNS and check the signatures',
      description:
        'Ask the DNS of this server, see each octet of the answer, and check its DNSSEC signatures in the page.',
    },
  ],
  [
    '/api',
    {
      title: 'API reference',
      description: 'The REST API: operations, parameters, answers and errors, with requests to copy.',
    },
  ],
]);

/** @param publicUrl origin under which browsers reach this server; its port may be known only after the start */
export function openFront(built: DashboardFiles, publicUrl: () => string, facts: FrontFacts): Front {
  const made = new Map<string, DashboardFile>();
  const once = (key: string, make: () => DashboardFile): DashboardFile => {
    const known = made.get(key) ?? make();
    made.set(key, known);
    return known;
  };

  function headOf(path: string): Head | null {
    const service = facts.services.get(/^\/services\/([a-z]+)$/.exec(path)?.[1] ?? '');
    if (service !== undefined)
      return { title: `${service.title} over DNS`, description: service.description };
    return HEADS.get(path) ?? null;
  }

  function metaLines(path: string, { title, description }: Head): string {
    const lines = [
      property('og:type', 'website'),
      property('og:site_name', 'uqrp'),
      property('og:title', title),
      property('og:description', description),
      '<meta name="twitter:card" content="summary_large_image">',
    ];
    if (!facts.isPublic) return lines.join('\n');
    const url = `${publicUrl()}${path}`;
    lines.push(`<link rel="canonical" href="${escapeHtml(url)}">`, property('og:url', url));
    if (built.picture !== null) lines.push(property('og:image', `${publicUrl()}${built.picture}`));
    return lines.join('\n');
  }

  function landing(): DashboardFile {
    const dns = facts.dns();
    const [zone = ''] = facts.zones;
    const values: Readonly<Record<string, string>> = {
      ...LANDING,
      zone,
      origin: publicUrl(),
      zones: facts.zones.join(' '),
      dns: dns === null ? '' : `${dns.host} ${dns.port}`,
      dig:
        dns === null ? 'dig' : dns.port === DNS_PORT ? `dig @${dns.host}` : `dig @${dns.host} -p ${dns.port}`,
      version: facts.version,
      put: `echo "Authorization: Bearer $API_KEY" |
  curl ${publicUrl()}/api/v1/records -H @- \\
  -H "Content-Type: application/json" \\
  -d '{"record": {"key": "greeting.acme.v1",
       "data": "aGVsbG8=", "content_type": "text/plain"}}'
# aGVsbG8= is "hello" in Base64`,
      octets: LIMITS.recordData.toLocaleString('en'),
      signed: facts.isSigned
        ? 'Answers have signatures of DNSSEC. This page has checked those above with the keys that this server gave it; a resolver compares the keys with the parent zone too, once the zone is delegated.'
        : 'A server can sign each answer by DNSSEC, so that everybody can check it. On this server that is switched off.',
    };
    const filled = built.html.landing.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) =>
      name === 'head' ? metaLines('/', LANDING) : escapeHtml(values[name] ?? ''),
    );
    return textFile(filled, HTML);
  }

  function shell(path: string, isGuest: boolean): DashboardFile {
    const marks = `${isGuest ? 'data-session="none" ' : ''}${facts.isOn ? '' : 'data-front="off" '}`;
    let html = built.html.shell.replace('<html ', `<html ${marks}`);
    const head = path === '/' ? null : headOf(path);
    if (head !== null) {
      const title = `<title>${escapeHtml(head.title)} · uqrp</title>`;
      const description = `<meta name="description" content="${escapeHtml(head.description)}">`;
      html = html.replace('<title>uqrp</title>', () => `${title}\n${description}\n${metaLines(path, head)}`);
    }
    return textFile(html, HTML);
  }

  return {
    page({ path, isGuest, asksForLanding }) {
      if (path === '/' && facts.isOn && (isGuest || asksForLanding)) {
        const dns = facts.dns();
        return once(`landing ${publicUrl()} ${dns?.host} ${dns?.port}`, landing);
      }
      // Paths without a head of their own are one page: nobody can fill the memory with names.
      const known = headOf(path) === null ? '' : path;
      return once(`${isGuest} ${known} ${publicUrl()}`, () => shell(known, isGuest));
    },
    file(path) {
      if (path === '/robots.txt') return once(path, () => textFile(robots(publicUrl(), facts), 'text/plain'));
      if (path === '/services.json')
        return once(path, () =>
          textFile(JSON.stringify(Object.fromEntries(facts.services)), 'application/json; charset=utf-8'),
        );
      if (path === '/sitemap.xml' && facts.isOn && facts.isPublic)
        return once(path, () => textFile(sitemap(publicUrl(), facts), 'application/xml'));
      return null;
    },
  };
}

function robots(publicUrl: string, { isOn, isPublic }: FrontFacts): string {
  if (!isOn) return 'User-agent: *\nDisallow: /\n';
  return `User-agent: *\nAllow: /\n${isPublic ? `Sitemap: ${publicUrl}/sitemap.xml\n` : ''}`;
}

function sitemap(publicUrl: string, { services, documents }: FrontFacts): string {
  const paths = ['/', '/services', ...[...services.keys()].map((name) => `/services/${name}`)];
  const urls = [...paths, '/playground', '/api', ...documents].map(
    (path) => `<url><loc>${escapeHtml(`${publicUrl}${path}`)}</loc></url>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('\n')}\n</urlset>\n`;
}

function property(name: string, content: string): string {
  return `<meta property="${name}" content="${escapeHtml(content)}">`;
}
