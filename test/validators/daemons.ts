/** A resolver's own port and files, and the server it asks. */
export interface Setup {
  readonly dir: string;
  readonly port: number;
  /** DS records, as lines of a master file: the only trust anchors. */
  readonly anchors: readonly string[];
  /** Our server at 127.0.0.1, asked for these zones without a delegation. Null: resolution from the root. */
  readonly direct: { readonly zones: readonly string[]; readonly port: number } | null;
  /** Address of the root server, on port 53. */
  readonly root: string;
}

/** A validating resolver. */
export interface Daemon {
  readonly name: string;
  readonly program: string;
  readonly debian: string;
  /** Arguments that print the version. */
  readonly version: readonly string[];
  /** Requires signatures of every algorithm of the DNSKEY rrset (RFC 4035 §2.2), so `split` is bogus. */
  readonly insists: boolean;
  /** Minimum time that it caches an answer, seconds. */
  readonly minTtl: number;
  /** Types for which it returns SERVFAIL, also with zones of BIND. */
  readonly declines: readonly string[];
  /** Its configuration: text by file name. */
  readonly files: (setup: Setup) => Readonly<Record<string, string>>;
  readonly args: (setup: Setup) => readonly string[];
}

/** The fields of a DS line: owner, and what follows `DS`. */
function ds(line: string): { owner: string; rdata: readonly string[] } {
  const [owner, , , ...rdata] = line.split(' ');
  return { owner: owner!, rdata };
}

/** A `trust-anchors` statement for named and delv. */
export function bindAnchors(anchors: readonly string[]): string {
  const lines = anchors.map((line) => {
    const { owner, rdata } = ds(line);
    return `  "${owner}" static-ds ${rdata.slice(0, 3).join(' ')} "${rdata.slice(3).join('')}";`;
  });
  return ['trust-anchors {', ...lines, '};', ''].join('\n');
}

function unbound(name: string, hardened: boolean): Daemon {
  return {
    name,
    program: 'unbound',
    debian: 'unbound',
    version: ['-V'],
    insists: hardened,
    minTtl: 0,
    declines: [],
    args: ({ dir }) => ['-d', '-p', '-c', `${dir}/unbound.conf`],
    files: ({ dir, port, anchors, direct, root }) => ({
      'root.hints': `. 3600 IN NS a.root-servers.test.\na.root-servers.test. 3600 IN A ${root}\n`,
      'unbound.conf': [
        'server:',
        `interface: 127.0.0.1@${port}`,
        `directory: "${dir}"`,
        'chroot: ""',
        'username: ""',
        'pidfile: ""',
        'use-syslog: no',
        'logfile: ""',
        'val-log-level: 2',
        'do-not-query-localhost: no',
        'module-config: "validator iterator"',
        'qname-minimisation: yes',
        'qname-minimisation-strict: yes',
        'aggressive-nsec: yes',
        'use-caps-for-id: yes',
        `harden-algo-downgrade: ${hardened ? 'yes' : 'no'}`,
        ...anchors.map((line) => `trust-anchor: "${line}"`),
        ...(direct === null ? [`root-hints: "${dir}/root.hints"`] : []),
        'remote-control:',
        'control-enable: no',
        ...(direct?.zones ?? []).flatMap((zone) => [
          'stub-zone:',
          `name: "${zone}."`,
          `stub-addr: 127.0.0.1@${direct!.port}`,
        ]),
        '',
      ].join('\n'),
    }),
  };
}

export const UNBOUND = unbound('unbound, strict minimisation, aggressive NSEC, 0x20', false);

const NAMED: Daemon = {
  name: 'named, strict minimisation, NSEC synthesis',
  program: 'named',
  debian: 'bind9',
  version: ['-v'],
  insists: false,
  minTtl: 0,
  declines: [],
  args: ({ dir }) => ['-f', '-g', '-n', '1', '-c', `${dir}/named.conf`],
  files: ({ dir, port, anchors, direct, root }) => ({
    'root.hints': `. 3600 IN NS a.root-servers.test.\na.root-servers.test. 3600 IN A ${root}\n`,
    'named.conf': [
      'options {',
      `directory "${dir}";`,
      // The port of the servers it asks; the option is meant for tests.
      `port ${direct?.port ?? 53};`,
      `listen-on port ${port} { 127.0.0.1; };`,
      'listen-on-v6 { none; };',
      'pid-file none;',
      'session-keyfile none;',
      'recursion yes;',
      'dnssec-validation yes;',
      'qname-minimization strict;',
      'synth-from-dnssec yes;',
      'empty-zones-enable no;',
      '};',
      'controls { };',
      bindAnchors(anchors),
      ...(direct === null
        ? [`zone "." { type hint; file "${dir}/root.hints"; };`]
        : direct.zones.map(
            (zone) => `zone "${zone}" { type static-stub; server-addresses { 127.0.0.1; }; };`,
          )),
      '',
    ].join('\n'),
  }),
};

const KRESD: Daemon = {
  name: 'kresd',
  program: 'kresd',
  debian: 'knot-resolver',
  version: ['--version'],
  insists: false,
  minTtl: 5,
  declines: ['ANY'],
  args: ({ dir }) => ['-n', '-c', `${dir}/kresd.conf`, dir],
  files: ({ port, anchors, direct, root }) => ({
    'kresd.conf': [
      `net.listen('127.0.0.1', ${port}, { kind = 'dns' })`,
      'net.ipv6 = false',
      'cache.size = 10 * MB',
      "trust_anchors.remove('.')",
      // A second call for an owner replaces the first.
      ...[...Map.groupBy(anchors, (line) => ds(line).owner).values()].map(
        (lines) => `trust_anchors.add([[${lines.join('\n')}]])`,
      ),
      ...(direct === null
        ? ["modules.load('hints')", `hints.root({ ['a.root-servers.test.'] = '${root}' })`]
        : direct.zones.map(
            (zone) =>
              `policy.add(policy.suffix(policy.FORWARD('127.0.0.1@${direct.port}'), { todname('${zone}.') }))`,
          )),
      '',
    ].join('\n'),
  }),
};

const PDNS: Daemon = {
  name: 'pdns_recursor',
  program: 'pdns_recursor',
  debian: 'pdns-recursor',
  version: ['--version'],
  insists: false,
  minTtl: 1,
  declines: ['RRSIG'],
  args: ({ dir }) => [`--config-dir=${dir}`],
  files: ({ dir, port, anchors, direct, root }) => ({
    'root.hints': `. 3600 IN NS a.root-servers.test.\na.root-servers.test. 3600 IN A ${root}\n`,
    'anchors.lua': [
      'clearTA(".")',
      ...anchors.map((line) => {
        const { owner, rdata } = ds(line);
        return `addTA("${owner === '.' ? '.' : owner.slice(0, -1)}", "${rdata.join(' ')}")`;
      }),
      '',
    ].join('\n'),
    'recursor.conf': [
      'local-address=127.0.0.1',
      `local-port=${port}`,
      `socket-dir=${dir}`,
      `config-dir=${dir}`,
      'daemon=no',
      'disable-syslog=yes',
      'setuid=',
      'setgid=',
      'threads=1',
      'security-poll-suffix=',
      'dnssec=validate',
      'dnssec-log-bogus=yes',
      'aggressive-nsec-cache-size=100000',
      'qname-minimization=yes',
      'dont-query=',
      `lua-config-file=${dir}/anchors.lua`,
      `hint-file=${direct === null ? `${dir}/root.hints` : 'no'}`,
      ...(direct === null
        ? []
        : [`forward-zones=${direct.zones.map((zone) => `${zone}=127.0.0.1:${direct.port}`).join(',')}`]),
      '',
    ].join('\n'),
  }),
};

export const DAEMONS: readonly Daemon[] = [
  UNBOUND,
  unbound('unbound as before, harden-algo-downgrade', true),
  NAMED,
  KRESD,
  PDNS,
];
