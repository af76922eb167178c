/**
 * Who may import whom. docs/ARCHITECTURE.md prints the table of rooms, and check-imports.ts compares the two. Paths are
 * regular expressions over paths from the project's root.
 */

/** A folder of src/ (or a file at its top) and the rooms or single files that it may import besides itself. */
interface Room {
  readonly room: string;
  readonly may: readonly string[];
}

const USE_CASES = ['control/accounts', 'control/keys', 'control/namespaces', 'control/records'] as const;
/** The part of the bridge that both wings know. */
const FEED_PORT = 'feed/change-source.ts';
/** Where the signing keys of an edge come from. */
const KEYS_PORT = 'feed/node-keys.ts';
/** The parts of the view that are types and counters, not an implementation. */
const VIEW_PORTS = ['edge/hosted/view.ts', 'edge/hosted/stamps.ts'] as const;
const EDGE = [
  'edge/wire',
  'edge/dnssec',
  'edge/transport',
  'edge/hosted',
  'edge/query',
  'edge/services',
  'edge/schema',
  'edge/node',
] as const;

export const ROOMS: readonly Room[] = [
  { room: 'core', may: [] },
  { room: 'lifecycle', may: [] },
  { room: 'config', may: ['core'] },
  { room: 'outbound', may: ['core', 'lifecycle'] },
  { room: 'telemetry', may: ['core'] },
  { room: 'feed', may: ['core', 'lifecycle', 'edge/hosted/view.ts'] },
  { room: 'control/store', may: ['core', 'lifecycle', FEED_PORT, KEYS_PORT] },
  { room: 'control/limits', may: ['core', 'control/store'] },
  ...USE_CASES.map((room) => ({
    room,
    may: ['core', 'lifecycle', 'control/store', ...USE_CASES.filter((other) => other !== room)],
  })),
  { room: 'control/webhooks', may: ['core', 'lifecycle', 'outbound', 'control/store', 'control/accounts'] },
  { room: 'control/idempotency', may: ['core', 'control/store', 'control/accounts'] },
  {
    room: 'control/api',
    may: ['core', 'lifecycle', 'control/limits', ...USE_CASES, 'control/webhooks', 'control/idempotency'],
  },
  { room: 'edge/wire', may: [] },
  { room: 'edge/dnssec', may: ['core', 'edge/wire'] },
  { room: 'edge/transport', may: ['core', 'lifecycle', 'edge/wire'] },
  { room: 'edge/hosted', may: ['core', 'lifecycle', FEED_PORT] },
  { room: 'edge/query', may: ['core', 'lifecycle', 'edge/wire', 'edge/transport/handler.ts', ...VIEW_PORTS] },
  { room: 'edge/services', may: ['core', 'lifecycle', 'outbound'] },
  { room: 'edge/schema', may: ['core', 'edge/services', 'edge/query/public-service.ts'] },
  {
    room: 'edge/node',
    may: ['core', 'lifecycle', 'telemetry', KEYS_PORT, ...EDGE.filter((room) => room !== 'edge/node')],
  },
  { room: 'zone-keys', may: ['core', 'config', 'control/store', 'edge/dnssec'] },
  { room: 'client', may: ['core', 'edge/wire'] },
  { room: 'outbound-worker.ts', may: ['core', 'outbound'] },
  { room: 'edge-worker.ts', may: ['core', 'lifecycle', 'telemetry', ...EDGE] },
  {
    room: 'cli',
    may: [
      'main.ts',
      'use-case-deps.ts',
      'start-checks.ts',
      'core',
      'lifecycle',
      'config',
      'telemetry',
      'control/store',
      ...USE_CASES,
      'client',
      'edge/wire',
      'edge/dnssec',
      'zone-keys',
      'edge/services/geoip/update.ts',
      'edge/services/stock/import.ts',
    ],
  },
  {
    room: 'start-checks.ts',
    may: [
      'webhook-seal.ts',
      'core',
      'config',
      'control/store',
      'edge/transport/port-check.ts',
      'edge/transport/port-holder.ts',
    ],
  },
  { room: 'use-case-deps.ts', may: ['core', 'config', 'control/store', 'control/accounts'] },
  { room: 'webhook-seal.ts', may: ['config', 'control/webhooks'] },
  { room: 'cli.ts', may: ['cli', 'main.ts', 'config', 'telemetry'] },
  {
    room: 'control-wing.ts',
    may: [
      'use-case-deps.ts',
      'webhook-seal.ts',
      'core',
      'lifecycle',
      'config',
      'telemetry',
      'outbound',
      'control/store',
      'control/limits',
      ...USE_CASES,
      'control/webhooks',
      'control/idempotency',
      'control/api',
    ],
  },
  { room: 'edge-wing.ts', may: ['core', 'lifecycle', 'config', 'telemetry', 'feed', 'zone-keys', ...EDGE] },
  {
    room: 'main.ts',
    may: [
      'start-checks.ts',
      'control-wing.ts',
      'edge-wing.ts',
      'core',
      'lifecycle',
      'config',
      'telemetry',
      'control/store',
      'edge/dnssec',
      'zone-keys',
    ],
  },
];

/** Tests and their support: they may look into any room, and nothing but tests may import them. */
export const TEST_FILES = String.raw`\.test\.ts$|^test/|^bench/|/testing(?:/|\.ts$)|/test-support\.ts$|-suite\.ts$|/conformance\.ts$`;

/** A module of Node or of npm that only some rooms may use. */
interface Door {
  readonly name: string;
  /** Matched against what the import resolves to. */
  readonly module: string;
  readonly only: readonly string[];
  readonly why: string;
}

function npm(name: string): string {
  return `node_modules/${name}/`;
}

function builtin(names: string): string {
  return `^(?:node:)?(?:${names})(?:/|$)`;
}

export const DOORS: readonly Door[] = [
  {
    name: 'http',
    module: builtin('http|https|http2'),
    only: ['outbound', 'control/api', 'edge/transport', 'client'],
    why: 'requests leave through outbound; servers live in control/api and edge/transport',
  },
  {
    name: 'dns',
    module: builtin('dns'),
    only: ['outbound'],
    why: 'addresses are looked up and vetted in outbound',
  },
  {
    name: 'dgram',
    module: builtin('dgram'),
    only: ['edge/transport', 'client'],
    why: 'sockets belong to the transports',
  },
  { name: 'sqlite', module: builtin('sqlite'), only: ['control/store'], why: 'SQL lives in the store' },
  { name: 'pg', module: npm('pg'), only: ['control/store'], why: 'SQL lives in the store' },
  { name: 'kysely', module: npm('kysely'), only: ['control/store'], why: 'SQL lives in the store' },
  { name: 'lmdb', module: npm('lmdb'), only: ['edge/hosted'], why: 'the view is read through its port' },
  {
    name: 'jose',
    module: npm('jose'),
    only: ['control/accounts'],
    why: 'tokens are made and verified in one place',
  },
  { name: 'nodemailer', module: npm('nodemailer'), only: ['outbound'], why: 'mail leaves through outbound' },
  { name: 'pino', module: npm('pino'), only: ['telemetry'], why: 'lines leave through the table of events' },
  { name: 'prom-client', module: npm('prom-client'), only: ['telemetry'], why: 'labels are closed sets' },
];

/** Words that only some files of src/ may hold, comments and tests aside. */
interface WordRule {
  readonly name: string;
  readonly pattern: RegExp;
  readonly only: RegExp;
  readonly why: string;
}

const COMPOSITION_ROOTS = /^src\/(?:main|edge-worker|cli)\.ts$/;

export const WORDS: readonly WordRule[] = [
  {
    name: 'process.env',
    pattern: /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\benv\b[^;]*\bfrom 'node:process'/,
    only: /^src\/config\/env\.ts$/,
    why: 'the environment is read in one place',
  },
  {
    name: 'Date.now',
    pattern: /\bDate\s*\.\s*now\b|\bnew Date\(\s*\)|\bDate\(\s*\)/,
    only: COMPOSITION_ROOTS,
    why: 'time is handed around as a Clock',
  },
  {
    name: 'fetch',
    pattern: /(?<![.\w])fetch\(/,
    only: /^src\/outbound\//,
    why: 'requests leave through outbound',
  },
];
