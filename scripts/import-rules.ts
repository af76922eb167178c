/**
 * Which folders of src/ a folder may import. docs/ARCHITECTURE.md prints this table, and check-imports.ts compares the two.
 * Paths are regular expressions over paths from the project's root.
 */

/** A folder of src/, and the folders or single files that it may import, apart from itself. */
export interface ModuleRow {
  readonly module: string;
  readonly may: readonly string[];
}

/** What others may import of the SDK. In a row of `MODULES` it is called `sdk`. */
export const SDK_ENTRIES = String.raw`^sdk/src/[\w-]+\.ts$`;

/** What a document of a flag means: the one file of the SDK that the control side uses. */
export const FLAG_RULES = 'sdk/src/flag-rules.ts';

/** What the store and the view implement of the feed: types, and the bounds of their values. */
const PORTS = 'feed/ports';

export const MODULES: readonly ModuleRow[] = [
  { module: 'base', may: [] },
  { module: 'protocol', may: ['base'] },
  { module: 'ops', may: ['base', 'protocol', PORTS] },
  { module: 'outbound', may: ['base'] },
  { module: 'services', may: ['base', 'protocol', 'outbound'] },
  { module: 'feed', may: ['base', 'protocol'] },
  { module: 'store', may: ['base', 'protocol', PORTS] },
  { module: 'view', may: ['base', 'protocol', PORTS] },
  { module: 'http', may: ['base', 'protocol'] },
  { module: 'control', may: ['base', 'protocol', 'store', 'http', 'outbound', FLAG_RULES] },
  { module: 'dns', may: ['base', 'protocol', PORTS, 'view', 'services'] },
  {
    module: 'process',
    may: [
      'base',
      'protocol',
      'ops',
      'outbound',
      'services',
      'feed',
      'store',
      'view',
      'http',
      'control',
      'dns',
    ],
  },
  { module: 'witness', may: ['base', 'protocol'] },
  { module: 'cli', may: ['base', 'protocol', 'ops', 'control', 'process', 'witness', 'sdk'] },
  { module: 'cli.ts', may: ['cli', 'process', 'ops'] },
];

/** Walls inside a folder: what the folder or file may import is only this, of all that its row in MODULES allows. */
export const WALLS: readonly (ModuleRow & { readonly why: string })[] = [
  {
    module: 'dns/query',
    may: [
      'base',
      'protocol',
      'dns/shared/handler.ts',
      'dns/accounting/tag.ts',
      'view/view.ts',
      'view/freshness.ts',
    ],
    why: 'no type that it can reach holds a client address, so no answer depends on who asks',
  },
  {
    module: 'dns/dnssec',
    may: ['base', 'protocol'],
    why: 'keys and signatures know no view and no transport',
  },
  {
    module: 'process/edge',
    may: ['process', 'base', 'protocol', 'ops', 'outbound', 'services', 'feed', 'view', 'dns'],
    why: 'an edge must not be able to open a store',
  },
  {
    module: 'process/node',
    may: ['base', 'protocol', 'ops', 'outbound', 'services', 'feed', 'view', 'dns'],
    why: 'a worker thread must not be able to open a store',
  },
];

/** What both may import of src/: files that run in a browser. check-imports.ts finds a module of Node behind them. */
const SHARED: readonly string[] = ['^src/protocol/', String.raw`^src/base/brand\.ts$`];

/** What `sdk/src` may import apart from itself. Its package holds what it imports of src/. */
export const SDK_IMPORTS: readonly string[] = [...SHARED, '(?:^|/)node_modules/@openfeature/'];

/** What `dashboard/src` may import apart from itself: the entry files of the SDK, and the libraries that are shipped in it. */
export const DASHBOARD_IMPORTS: readonly string[] = [
  ...SHARED,
  SDK_ENTRIES,
  // `node_modules` may be a link to that of another checkout.
  '(?:^|/)node_modules/(?:lucide|preact|@preact/signals|@preact/signals-core)/',
];

/** Tests and their support: they may import any module, and only tests may import them. */
export const TEST_FILES = String.raw`\.test\.ts$|^test/|^bench/`;

const npm = (name: string): string => `node_modules/${name}/`;
const builtin = (names: string): string => `^(?:node:)?(?:${names})(?:/|$)`;

/** Modules of Node and of npm that only some of our modules may import. `module` is matched against what the import resolves to. */
export const RESTRICTED_IMPORTS = (
  [
    [
      'http',
      builtin('http|https|http2'),
      ['outbound', 'http', 'dns', 'witness', 'process/dns-client.ts', 'cli/rest.ts', 'cli/transparency'],
      'requests leave through outbound; servers live in http, dns and witness',
    ],
    ['dns', builtin('dns'), ['outbound'], 'addresses are looked up and vetted in outbound'],
    [
      'fs',
      builtin('fs'),
      [
        'base/files.ts',
        // Files of who types the command, not of the server.
        'cli',
        // What is shipped with the program, read once.
        'http/pages',
        'ops/config/version.ts',
        'ops/telemetry/log.ts',
        'services/places/table.ts',
        // What the system tells of itself in /proc and /etc.
        'dns/port-check.ts',
        'process/dns-client.ts',
        'process/start-checks.ts',
        // Whether this user may read and write a file.
        'process/operator/doctor.ts',
        // The signs of writes by other processes, which no port has.
        'store/sqlite/sqlite-store.ts',
        // A manifest and items that an operator names: of any size, or a pipe.
        'control/datasets/attest.ts',
        'control/datasets/items.ts',
      ],
      'what the product keeps goes through the port of files',
    ],
    ['dgram', builtin('dgram'), ['dns', 'process/dns-client.ts'], 'sockets belong to the transports'],
    ['sqlite', builtin('sqlite'), ['store', 'witness'], 'SQL lives in the store'],
    ['pg', npm('pg'), ['store'], 'SQL lives in the store'],
    ['lmdb', npm('lmdb'), ['view/lmdb'], 'the view is read through its port'],
    ['jose', npm('jose'), ['control/accounts'], 'tokens are made and verified in one place'],
    [
      '@simplewebauthn/server',
      npm('@simplewebauthn/server'),
      ['control/passkeys'],
      'responses of authenticators are verified in one place',
    ],
    ['nodemailer', npm('nodemailer'), ['outbound'], 'mail leaves through outbound'],
    [
      '@nats-io',
      npm('@nats-io'),
      ['feed/bus/nats'],
      'the broker is reached through its port, and only where one is configured',
    ],
    ['pino', npm('pino'), ['ops/telemetry'], 'lines leave through the table of events'],
    ['prom-client', npm('prom-client'), ['ops/telemetry'], 'labels are closed sets'],
  ] as const
).map(([name, module, only, why]) => ({ name, module, only: [...only], why }));

const COMPOSITION_ROOTS = /^src\/(?:process\/(?:main|edge-worker|snapshot-process)|cli)\.ts$/;

/**
 * Time, waits and chance come through ports (`base/lifecycle/timers.ts`, `base/chance.ts`, a `Clock`), so that a simulation decides them. These
 * files alone read past them, each what is named.
 */
const PAST_THE_PORTS: readonly (readonly [path: string, what: readonly Port[], why: string])[] = [
  ['base/lifecycle/timers.ts', ['elapsed', 'wait', 'turn'], 'it is the port'],
  ['base/chance.ts', ['chance'], 'it is the port'],
  ['cli/', ['elapsed', 'wait'], 'a command of a person at a terminal'],
  ['dns/doh/http2/connection.ts', ['turn'], 'answers of one turn leave together: tuned by measurement'],
  ['dns/shared/turns.ts', ['turn'], 'answers of one turn leave together: tuned by measurement'],
  ['dns/udp/replies.ts', ['turn'], 'answers of one turn leave together: tuned by measurement'],
  ['outbound/', ['wait'], 'its deadlines are of real sockets'],
  ['process/dns-client.ts', ['wait', 'chance'], 'a command that asks over real sockets'],
  ['process/health-worker.ts', ['elapsed'], 'a composition root'],
  ['process/node/', ['wait'], 'it waits for real threads'],
  ['process/operator/', ['wait'], 'commands that ask a real broker'],
  ['process/snapshot-process.ts', ['wait'], 'a composition root'],
  ['services/answers.ts', ['chance'], 'chance is what its services answer'],
];

type Port = 'elapsed' | 'wait' | 'turn' | 'chance';

const READS: Readonly<Record<Port, readonly [pattern: RegExp, port: string]>> = {
  elapsed: [/\bperformance\s*\.\s*now\b|\bhrtime\b/, 'Timers.elapsed'],
  wait: [
    /(?<![.\w])set(?:Timeout|Interval)\b|\bnode:timers\b|\bAbortSignal\s*\.\s*timeout\b|\bAtomics\s*\.\s*wait\b/,
    'Timers.after, or pause',
  ],
  turn: [/(?<![.\w])setImmediate\b/, 'nextTurn'],
  chance: [
    /\bMath\s*\.\s*random\b|\brandom(?:Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/,
    'Random, or realRandom where a simulation never comes',
  ],
};

const READS_PAST_PORTS = (Object.keys(READS) as Port[]).map((port) => {
  const [pattern, instead] = READS[port];
  const files = PAST_THE_PORTS.filter(([, what]) => what.includes(port)).map(([path]) => path);
  const only = new RegExp(`^src/(?:${files.join('|')})`);
  return { name: `${port} past its port`, pattern, only, why: `use ${instead}` };
});

/** Words that only some files of src/ may contain. Comments and tests are not checked. */
export const WORDS: readonly {
  readonly name: string;
  readonly pattern: RegExp;
  readonly only: RegExp;
  readonly why: string;
}[] = [
  {
    name: 'process.env',
    pattern: /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\benv\b[^;]*\bfrom 'node:process'/,
    only: /^src\/ops\/config\/env\.ts$/,
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
  ...READS_PAST_PORTS,
];
