/**
 * Which modules a module may import. docs/ARCHITECTURE.md prints this table, and check-imports.ts compares the two.
 * Paths are regular expressions over paths from the project's root.
 */

import { COMPOSITION, EDGE, type ModuleRow, USE_CASES } from './composition-rules.ts';

/** What the control side implements of the feed's protocol. */
const CONTROL_PORTS = [
  'feed/change-source.ts',
  'feed/changes',
  'feed/keys/key-store.ts',
  'feed/node-keys.ts',
  'feed/publisher/leader-lock.ts',
  'feed/query-log.ts',
  'feed/usage-sink.ts',
] as const;
/** The parts of the view that are types and counters, not an implementation. */
const VIEW_PORTS = ['edge/hosted/view.ts', 'edge/datasets/view.ts', 'edge/view/freshness.ts'] as const;
/** What a reply is counted as. */
const TAG = 'edge/accounting/tag.ts';

export const MODULES: readonly ModuleRow[] = [
  { module: 'core', may: [] },
  { module: 'lifecycle', may: [] },
  { module: 'external-sort', may: [] },
  { module: 'files', may: [] },
  { module: 'certificates', may: ['core'] },
  { module: 'config', may: ['core', 'files', 'feed/identity'] },
  { module: 'outbound', may: ['core', 'lifecycle'] },
  { module: 'telemetry', may: ['core', 'lifecycle', 'feed/batch/refusal.ts'] },
  { module: 'feed', may: ['core', 'lifecycle', 'files'] },
  { module: 'feed/changes', may: ['core'] },
  {
    module: 'feed/follower',
    may: ['core', 'lifecycle', 'feed/changes', 'feed/change-source.ts', 'feed/view-writer.ts'],
  },
  { module: 'feed/batch', may: ['core', 'feed/changes', 'feed/change-source.ts'] },
  { module: 'feed/bus', may: ['core', 'lifecycle'] },
  { module: 'feed/identity', may: ['lifecycle', 'feed/bus'] },
  {
    module: 'feed/keys',
    may: ['core', 'lifecycle', 'files', 'feed/batch', 'feed/bus', 'feed/identity', 'feed/node-keys.ts'],
  },
  {
    module: 'feed/exchange',
    may: [
      'core',
      'lifecycle',
      'feed/batch',
      'feed/bus',
      'feed/change-source.ts',
      'feed/query-log.ts',
      'feed/usage-sink.ts',
    ],
  },
  { module: 'feed/publisher', may: ['core', 'lifecycle', 'feed/batch', 'feed/bus', 'feed/change-source.ts'] },
  {
    module: 'feed/bus-source',
    may: ['core', 'lifecycle', 'feed/batch', 'feed/bus', 'feed/change-source.ts'],
  },
  { module: 'feed/snapshots', may: ['core', 'lifecycle', 'feed/batch', 'feed/bus', 'feed/change-source.ts'] },
  { module: 'control/store', may: ['core', 'lifecycle', 'files', ...CONTROL_PORTS] },
  { module: 'control/limits', may: ['core', 'lifecycle', 'control/store'] },
  { module: 'control/accounts', may: ['core', 'lifecycle', 'outbound', 'control/store'] },
  { module: 'control/keys', may: ['core', 'control/store', 'control/accounts'] },
  { module: 'control/namespaces', may: ['core', 'lifecycle', 'control/store', 'control/accounts'] },
  { module: 'control/records', may: ['core', 'lifecycle', 'control/store', 'control/accounts'] },
  {
    module: 'control/datasets',
    may: ['core', 'external-sort', 'files', 'control/store', 'control/accounts'],
  },
  { module: 'control/webhooks', may: ['core', 'lifecycle', 'outbound', 'control/store', 'control/accounts'] },
  { module: 'control/organizations', may: ['core', 'control/store', 'control/accounts'] },
  { module: 'control/passkeys', may: ['core', 'control/store', 'control/accounts'] },
  { module: 'control/idempotency', may: ['core', 'control/store', 'control/accounts'] },
  { module: 'control/query-log', may: ['core', 'lifecycle', 'control/store', 'control/accounts'] },
  { module: 'control/propagation', may: ['core', 'control/store', 'control/accounts'] },
  { module: 'control/usage', may: ['core', 'control/store', 'control/accounts', 'control/webhooks'] },
  {
    module: 'control/api',
    may: [
      'core',
      'lifecycle',
      'control/limits',
      ...USE_CASES,
      'control/webhooks',
      'control/organizations',
      'control/passkeys',
      'control/idempotency',
      'control/query-log',
      'control/propagation',
      'control/usage',
      'control/datasets',
    ],
  },
  {
    module: 'control/dashboard',
    may: ['core', 'control/api/requests/preconditions.ts', 'control/api/requests/session-cookie.ts'],
  },
  { module: 'edge/wire', may: ['core/network/address.ts', 'core/network/dns-codes.ts', 'core/fnv.ts'] },
  { module: 'edge/dnssec', may: ['core', 'files', 'edge/wire'] },
  { module: 'edge/transport', may: ['core', 'lifecycle', 'edge/wire'] },
  {
    module: 'edge/accounting',
    may: ['core', 'lifecycle', 'files', 'feed/query-log.ts', 'feed/usage-sink.ts'],
  },
  { module: 'edge/lmdb', may: ['files'] },
  { module: 'edge/hosted', may: ['core', 'edge/lmdb'] },
  { module: 'edge/datasets', may: ['core', 'edge/lmdb'] },
  {
    module: 'edge/view',
    may: [
      'core',
      'external-sort',
      'files',
      'feed/view-writer.ts',
      'edge/lmdb',
      'edge/hosted',
      'edge/datasets',
    ],
  },
  {
    module: 'edge/query',
    may: ['core', 'lifecycle', 'edge/wire', 'edge/transport/shared/handler.ts', TAG, ...VIEW_PORTS],
  },
  { module: 'edge/services', may: ['core', 'lifecycle', 'files', 'outbound'] },
  { module: 'edge/schema', may: ['core', 'edge/services', 'edge/query/operations'] },
  {
    module: 'edge/node',
    may: [
      'core',
      'lifecycle',
      'telemetry',
      'files',
      'feed/node-keys.ts',
      ...EDGE.filter((module) => module !== 'edge/node'),
    ],
  },
  {
    module: 'zone-keys',
    may: ['core', 'lifecycle', 'config', 'feed/node-keys.ts', 'control/store', 'edge/dnssec'],
  },
  { module: 'client', may: ['core', 'edge/wire'] },
  { module: 'outbound-worker.ts', may: ['core', 'outbound'] },
  { module: 'health-worker.ts', may: ['lifecycle', 'telemetry'] },
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
      'control/organizations',
      'control/datasets',
      'client',
      'edge/wire',
      'edge/dnssec',
      'zone-keys',
      'edge/services/geoip/update.ts',
      'edge/services/stock/import.ts',
      'certificates',
      'files',
      'feed/identity',
      'feed/bus',
      'feed/batch',
      'feed/snapshots',
      'feed/exchange',
    ],
  },
  ...COMPOSITION,
];

/** What `dashboard/src` may import apart from itself: the entry files of the SDK, and the libraries that are shipped in it. */
export const DASHBOARD_IMPORTS: readonly string[] = [
  String.raw`^sdk/src/[\w-]+\.ts$`,
  // `node_modules` may be a link to that of another checkout.
  '(?:^|/)node_modules/(?:preact|@preact/signals|@preact/signals-core)/',
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
  { name: 'lmdb', module: npm('lmdb'), only: ['edge/lmdb'], why: 'the view is read through its port' },
  {
    name: 'jose',
    module: npm('jose'),
    only: ['control/accounts'],
    why: 'tokens are made and verified in one place',
  },
  {
    name: '@simplewebauthn/server',
    module: npm('@simplewebauthn/server'),
    only: ['control/passkeys'],
    why: 'responses of authenticators are verified in one place',
  },
  { name: 'nodemailer', module: npm('nodemailer'), only: ['outbound'], why: 'mail leaves through outbound' },
  {
    name: '@nats-io',
    module: npm('@nats-io'),
    only: ['feed/bus/nats'],
    why: 'the broker is reached through its port, and only where one is configured',
  },
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

const COMPOSITION_ROOTS = /^src\/(?:main|edge-worker|snapshot-process|cli)\.ts$/;

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
