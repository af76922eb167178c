/**
 * Which modules a module may import. docs/ARCHITECTURE.md prints this table, and check-imports.ts compares the two.
 * Paths are regular expressions over paths from the project's root.
 */

/** A folder of src/ (or a file at its top) and the modules or single files that it may import, apart from itself. */
interface ModuleRow {
  readonly module: string;
  readonly may: readonly string[];
}

const USE_CASES = ['control/accounts', 'control/keys', 'control/namespaces', 'control/records'] as const;
/** What the control side implements of the feed's protocol. */
const CONTROL_PORTS = [
  'feed/change-codec.ts',
  'feed/change-source.ts',
  'feed/node-keys.ts',
  'feed/usage-sink.ts',
] as const;
/** The parts of the view that are types and counters, not an implementation. */
const VIEW_PORTS = ['edge/hosted/view.ts', 'edge/hosted/freshness.ts'] as const;
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

export const MODULES: readonly ModuleRow[] = [
  { module: 'core', may: [] },
  { module: 'lifecycle', may: [] },
  { module: 'certificates', may: ['core'] },
  { module: 'config', may: ['core'] },
  { module: 'outbound', may: ['core', 'lifecycle'] },
  { module: 'telemetry', may: ['core'] },
  { module: 'feed', may: ['core', 'lifecycle'] },
  { module: 'control/store', may: ['core', 'lifecycle', ...CONTROL_PORTS] },
  { module: 'control/limits', may: ['core', 'control/store'] },
  { module: 'control/accounts', may: ['core', 'control/store'] },
  { module: 'control/keys', may: ['core', 'control/store', 'control/accounts'] },
  { module: 'control/namespaces', may: ['core', 'lifecycle', 'control/store', 'control/accounts'] },
  { module: 'control/records', may: ['core', 'lifecycle', 'control/store', 'control/accounts'] },
  { module: 'control/webhooks', may: ['core', 'lifecycle', 'outbound', 'control/store', 'control/accounts'] },
  { module: 'control/idempotency', may: ['core', 'control/store', 'control/accounts'] },
  {
    module: 'control/api',
    may: ['core', 'lifecycle', 'control/limits', ...USE_CASES, 'control/webhooks', 'control/idempotency'],
  },
  { module: 'edge/wire', may: ['core/network/address.ts', 'core/fnv.ts'] },
  { module: 'edge/dnssec', may: ['core', 'edge/wire'] },
  { module: 'edge/transport', may: ['core', 'lifecycle', 'edge/wire'] },
  { module: 'edge/hosted', may: ['core', 'lifecycle', 'feed/view-writer.ts'] },
  {
    module: 'edge/query',
    may: ['core', 'lifecycle', 'edge/wire', 'edge/transport/shared/handler.ts', ...VIEW_PORTS],
  },
  { module: 'edge/services', may: ['core', 'lifecycle', 'outbound'] },
  { module: 'edge/schema', may: ['core', 'edge/services', 'edge/query/operations'] },
  {
    module: 'edge/node',
    may: [
      'core',
      'lifecycle',
      'telemetry',
      'feed/node-keys.ts',
      ...EDGE.filter((module) => module !== 'edge/node'),
    ],
  },
  { module: 'zone-keys', may: ['core', 'config', 'feed/node-keys.ts', 'control/store', 'edge/dnssec'] },
  { module: 'client', may: ['core', 'edge/wire'] },
  { module: 'outbound-worker.ts', may: ['core', 'outbound'] },
  { module: 'edge-worker.ts', may: ['core', 'lifecycle', 'telemetry', ...EDGE] },
  {
    module: 'cli',
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
    module: 'start-checks.ts',
    may: [
      'webhook-secrets.ts',
      'core',
      'config',
      'control/store',
      'edge/transport/ports/port-check.ts',
      'edge/transport/ports/port-holder.ts',
    ],
  },
  { module: 'use-case-deps.ts', may: ['core', 'config', 'control/store', 'control/accounts'] },
  { module: 'webhook-secrets.ts', may: ['config', 'control/webhooks'] },
  { module: 'cli.ts', may: ['cli', 'main.ts', 'config', 'telemetry'] },
  {
    module: 'control-role.ts',
    may: [
      'use-case-deps.ts',
      'webhook-secrets.ts',
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
  {
    module: 'edge-role.ts',
    may: ['core', 'lifecycle', 'certificates', 'config', 'telemetry', 'feed', 'zone-keys', ...EDGE],
  },
  {
    module: 'main.ts',
    may: [
      'start-checks.ts',
      'control-role.ts',
      'edge-role.ts',
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

/** Tests and their support: they may import any module, and only tests may import them. */
export const TEST_FILES = String.raw`\.test\.ts$|^test/|^bench/`;

/** A module of Node or of npm that only some of our modules may import. */
interface RestrictedImport {
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

export const RESTRICTED_IMPORTS: readonly RestrictedImport[] = [
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

/** Words that only some files of src/ may contain. Comments and tests are not checked. */
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
