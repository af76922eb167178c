/**
 * Commands of the documents name the default zone, ports and host. The build marks these places, and the server writes what is its own there,
 * so that a command works as it is copied.
 */

/** What a reader of this server types. */
export interface ServerNames {
  readonly zone: string;
  /** Of REST and of the pages, such as `http://localhost:8080`. */
  readonly origin: string;
  /** Null: this process answers no DNS. The first name server of the zone does, on the standard ports. `host` is without brackets. */
  readonly dns: {
    readonly host: string;
    readonly dns: number;
    readonly dot: number;
    readonly doh: number;
  } | null;
  readonly nameServer: string;
}

/** The texts of the documents, without a server's own: for a static copy, and for tests. */
export const DEFAULT_NAMES: ServerNames = {
  zone: 'uqrp.net',
  origin: 'http://localhost:8080',
  dns: { host: '127.0.0.1', dns: 5300, dot: 8853, doh: 8443 },
  nameServer: 'ns1.uqrp.net',
};

/** Characters for private use: no document has them, and HTML and Markdown leave them alone. */
const OPEN = '\u{E000}';
const CLOSE = '\u{E001}';

/** Longer forms first. Each is replaced by what `VALUES` says for its mark. */
const RULES: readonly (readonly [RegExp, mark: string])[] = [
  [/@127\.0\.0\.1 -p 5300(?!\d)/g, 'dig'],
  [/@127\.0\.0\.1 -p 8443 \+https(?![\w=])/g, 'dig-https'],
  [/--server 127\.0\.0\.1 --port 5300(?!\d)/g, 'query'],
  [/(?<![\w.])127\.0\.0\.1 5300(?!\d)/g, 'host-port'],
  [/(?<![\w./])127\.0\.0\.1:5300(?!\d)/g, 'socket'],
  [/https:\/\/(?:localhost|127\.0\.0\.1|HOST):8443(?!\d)/g, 'doh'],
  [/http:\/\/(?:localhost|127\.0\.0\.1|HOST):8080(?!\d)/g, 'origin'],
  [/(?<![\w-])uqrp\.net(?![\w-])/g, 'zone'],
];

type Values = Readonly<Record<string, (names: ServerNames) => string>>;

const VALUES: Values = {
  zone: ({ zone }) => zone,
  origin: ({ origin }) => origin,
  dig: (names) => `@${hostOf(names)}${option('-p', portOf(names, 'dns'), 53)}`,
  'dig-https': (names) => `@${hostOf(names)}${option('-p', portOf(names, 'doh'), 443)} +https`,
  query: (names) => `--server ${hostOf(names)}${option('--port', portOf(names, 'dns'), 53)}`,
  'host-port': (names) => `${hostOf(names)} ${portOf(names, 'dns')}`,
  socket: (names) => `${bracketed(hostOf(names))}:${portOf(names, 'dns')}`,
  doh: (names) => {
    const port = portOf(names, 'doh');
    const host = names.dns === null ? names.nameServer : new URL(names.origin).hostname;
    return `https://${host}${port === 443 ? '' : `:${port}`}`;
  },
};

const PORTS = { dns: 53, dot: 853, doh: 443 } as const;

function portOf({ dns }: ServerNames, service: keyof typeof PORTS): number {
  return dns?.[service] ?? PORTS[service];
}

function hostOf({ dns, nameServer }: ServerNames): string {
  return dns?.host ?? nameServer;
}

function option(name: string, value: number, standard: number): string {
  return value === standard ? '' : ` ${name} ${value}`;
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** @param text of a command, or of one word of code */
export function marked(text: string): string {
  return RULES.reduce((marks, [pattern, mark]) => marks.replace(pattern, `${OPEN}${mark}${CLOSE}`), text);
}

/**
 * @param text with marks of `marked`
 * @param escaped for the language of `text`: a name of the server is data
 * @throws Error for a mark that no value belongs to
 */
export function filled(text: string, names: ServerNames, escaped: (value: string) => string): string {
  return text.replace(new RegExp(`${OPEN}([^${CLOSE}]*)${CLOSE}`, 'g'), (_, mark: string) => {
    const value = VALUES[mark];
    if (value === undefined) throw new Error(`no value for the mark "${mark}"`);
    return escaped(value(names));
  });
}

export function hasMarks(text: string): boolean {
  return text.includes(OPEN) || text.includes(CLOSE);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attributes in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (one) => ENTITIES[one]!);
}
