import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../core/limits.ts';
import { ConfigError, loadConfig } from './config.ts';
import { ENVIRONMENT, readEnvironment, type VariableName } from './env.ts';

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
  return [];
}

const SECRET = 'x'.repeat(32);
const LABEL_63 = 'a'.repeat(63);

/** Values on both sides of every rule. */
const VALUES: readonly [VariableName, readonly string[], readonly string[]][] = [
  ['UQRP_HOST', ['0.0.0.0', '::1', '::', '192.0.2.1', ''], ['localhost', '127.1', '1.2.3.4:53', '[::1]']],
  ['UQRP_HTTP_PORT', ['0', '1', '65535'], ['65536', '-1', '08', '80.0', '1e3', ' 80', 'http', '0x50']],
  ['UQRP_MARKER', ['uqrp', 'UQRP', 'a-1', LABEL_63], ['a.b', '-a', 'a-', 'a_b', `${LABEL_63}a`, 'ü']],
  ['UQRP_TLDS', ['net', 'net,org', 'NET, org', LABEL_63], [',', 'net,', 'net,NET', 'co.uk', `${LABEL_63}a`]],
  ['UQRP_ROLE', ['all', 'control'], ['ALL', 'both']],
  [
    'UQRP_DATABASE_URL',
    ['postgres://u:p@h/d', 'postgresql://h', 'postgres:///d?host=/run/pg'],
    ['mysql://u:hush@h/d', 'hush', 'postgres', '//h/d'],
  ],
  ['UQRP_SECRET', [SECRET], [SECRET.slice(1)]],
  ['UQRP_DEMO', ['on', 'off'], ['ON', 'true', '1']],
  ['UQRP_BTC', ['on', 'off'], ['ON', 'true', '1']],
  ['UQRP_GEOIP_DB', ['city.mmdb', '/a/b.mmdb', ''], ['a\0b']],
  [
    'UQRP_NS',
    ['a=192.0.2.1,b=192.0.2.1', 'a=192.0.2.1, a=2001:db8::1, b=2001:db8::2', 'A=192.0.2.1,b=192.0.2.2'],
    [
      'ns1=192.0.2.1',
      'ns1=192.0.2.1,ns1=192.0.2.2',
      'ns1=192.0.2.1,ns2',
      'ns1=192.0.2.1,ns2=',
      'ns1=192.0.2.1,ns2=192.0.2.256',
      'ns1=192.0.2.1,ns2=fe80::1%eth0',
      'ns1=192.0.2.1,ns.2=192.0.2.2',
      'ns1=192.0.2.1,ns2=192.0.2.2,',
      'ns1=192.0.2.1=1,ns2=192.0.2.2',
      'ns1=192.0.2.1,ns1=192.0.2.1,ns2=192.0.2.2',
    ],
  ],
  ['UQRP_DNS_RATE', ['0', '1', '1000000'], ['1000001', '-1', 'off']],
  ['UQRP_UDP', ['auto', 'node'], ['batch', 'AUTO', 'off']],
  ['UQRP_WORKERS', ['1', '256'], ['0', '257', 'all']],
  [
    'UQRP_OPENMETEO_URL',
    ['http://10.0.0.1:8080', 'https://weather.example/base', 'off'],
    [
      'ftp://weather.example',
      'weather.example',
      'https://u:p@weather.example',
      'https://w.example/?q=1',
      'OFF',
    ],
  ],
  [
    'UQRP_WEBHOOK_SCHEDULE',
    ['0', '0,5,300', '0, 0.25, 1.125', '86400', '0,1,2,3,4,5,6,7,8,9'],
    ['-1', '86401', '0,', 'soon', '1e3', '0.1234', '0,1,2,3,4,5,6,7,8,9,10'],
  ],
  [
    'UQRP_SMTP_URL',
    ['smtp://mail.example', 'smtps://u:p@10.0.0.1:465'],
    ['https://mail.example', 'mail', 'smtp://'],
  ],
  ['UQRP_MAIL_FROM', ['a@b', 'no-reply@uqrp.example'], ['a', '@b', 'A <a@b>', 'a@b, c@d', 'a @b']],
  [
    'UQRP_RESOLVERS',
    ['192.0.2.1', '192.0.2.1:53, 2001:db8::1', '[2001:db8::1]:5353', '[::1]'],
    ['dns.example', '192.0.2.1:0', '192.0.2.1:65536', '[192.0.2.1]', 'fe80::1%eth0', '192.0.2.1,'],
  ],
];

describe('loadConfig', () => {
  it('has a default for everything', () => {
    const config = loadConfig({});
    assert.deepEqual(config, {
      dataDir: resolve('data'),
      host: '127.0.0.1',
      httpPort: 8080,
      dnsPort: 5300,
      dotPort: 8853,
      dohPort: 8443,
      tls: null,
      marker: 'uqrp',
      tlds: ['net'],
      zones: ['uqrp.net'],
      role: 'all',
      databaseUrl: null,
      secret: null,
      restRate: true,
      dnsRate: 200,
      demo: false,
      btc: false,
      geoipDb: null,
      sync: true,
      nameServers: [
        { label: 'ns1', addresses: ['192.0.2.1'] },
        { label: 'ns2', addresses: ['192.0.2.2'] },
      ],
      dnssec: 'full',
      nodeName: 'uqrp',
      udp: 'auto',
      workers: availableParallelism(),
      providers: {
        openmeteo: 'https://api.open-meteo.com',
        metno: 'https://api.met.no',
        frankfurter: 'https://api.frankfurter.dev',
        ecb: 'https://www.ecb.europa.eu',
        coinbase: 'https://api.exchange.coinbase.com',
        kraken: 'https://api.kraken.com',
        twelvedata: null,
        finnhub: null,
        own: [],
      },
      resolvers: [],
      webhookSchedule: [0, 5, 300, 1800, 7200],
      mail: null,
      unknown: [],
    });
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.nameServers[0]?.addresses));
  });

  for (const [name, good, bad] of VALUES) {
    it(`judges ${name}`, () => {
      for (const value of good) assert.deepEqual(faultsOf({ [name]: value }), [], value);
      const fault = `${name} must be ${ENVIRONMENT[name].expects}`;
      for (const value of bad) assert.deepEqual(faultsOf({ [name]: value }), [fault], value);
    });
  }

  it('folds labels to lower case and keeps several zones in order', () => {
    const { zones, nameServers } = loadConfig({
      UQRP_MARKER: 'Data',
      UQRP_TLDS: 'NET,org',
      UQRP_NS: 'NSb=2001:DB8::1,nsA=192.0.2.1,nsb=192.0.2.9',
    });
    assert.deepEqual(zones, ['data.net', 'data.org']);
    assert.deepEqual(nameServers, [
      { label: 'nsb', addresses: ['2001:db8::1', '192.0.2.9'] },
      { label: 'nsa', addresses: ['192.0.2.1'] },
    ]);
  });

  it("knows which providers are asked, and which bases are the operator's own", () => {
    const { providers } = loadConfig({
      UQRP_METNO_URL: 'off',
      UQRP_ECB_URL: 'http://10.0.0.1',
      UQRP_KRAKEN_URL: 'https://api.kraken.com',
      UQRP_TWELVEDATA_KEY: 'key',
      UQRP_FINNHUB_URL: 'off',
      UQRP_FINNHUB_KEY: 'key',
    });
    assert.deepEqual(
      [providers.metno, providers.ecb, providers.twelvedata, providers.finnhub, providers.own],
      [
        null,
        'http://10.0.0.1',
        { base: 'https://api.twelvedata.com', key: 'key' },
        null,
        ['http://10.0.0.1'],
      ],
    );
  });

  it('tells every fault at once and never a value', () => {
    const hush = 'hush-hush';
    const env: Record<string, string> = { UQRP_TLS_KEY: hush };
    for (const [name, , bad] of VALUES) env[name] = bad.at(-1)!;
    env.UQRP_DATABASE_URL = `mysql://user:${hush}@host/db`;
    env.UQRP_SECRET = hush;
    const faults = faultsOf(env);
    assert.equal(faults.length, VALUES.length + 1);
    assert.equal(faults.join().includes(hush), false);
  });

  it('never repeats a value, whatever it is', () => {
    const names = Object.keys(ENVIRONMENT);
    const values = fc.stringMatching(/^[a-z0-9]{12,20}$/);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), values), (env) => {
        const told = faultsOf(env).join();
        for (const value of Object.values(env)) assert.equal(told.includes(value), false);
      }),
    );
  });

  it('judges combinations', () => {
    const together = 'UQRP_TLS_CERT and UQRP_TLS_KEY must be given together';
    assert.deepEqual(faultsOf({ UQRP_TLS_CERT: 'c' }), [together]);
    assert.deepEqual(faultsOf({ UQRP_TLS_KEY: 'k' }), [together]);
    assert.deepEqual(loadConfig({ UQRP_TLS_CERT: 'c', UQRP_TLS_KEY: '/k' }).tls, {
      cert: resolve('c'),
      key: '/k',
    });

    assert.match(faultsOf({ UQRP_ROLE: 'edge' }).join(), /^UQRP_ROLE edge needs UQRP_DATABASE_URL/);
    assert.deepEqual(faultsOf({ UQRP_ROLE: 'edge', UQRP_SYNC: 'off' }), []);
    assert.deepEqual(faultsOf({ UQRP_ROLE: 'edge', UQRP_DATABASE_URL: 'postgres://h/d' }), []);

    assert.deepEqual(faultsOf({ UQRP_DNS_PORT: '8080' }), ['UQRP_DNS_PORT must differ from UQRP_HTTP_PORT']);
    assert.deepEqual(faultsOf({ UQRP_DOH_PORT: '5300' }), ['UQRP_DOH_PORT must differ from UQRP_DNS_PORT']);
    assert.deepEqual(faultsOf({ UQRP_DOT_PORT: '5300' }), ['UQRP_DOT_PORT must differ from UQRP_DNS_PORT']);
    const free = { UQRP_HTTP_PORT: '0', UQRP_DNS_PORT: '0', UQRP_DOT_PORT: '0', UQRP_DOH_PORT: '0' };
    assert.deepEqual(faultsOf(free), []);
  });

  it('lists names that mean nothing, and passes those of later versions in silence', () => {
    const { unknown } = loadConfig({ UQRP_PROT: '1', UQRP_DATASETS: 'on', HOME: '/', UQRP_A: '' });
    assert.deepEqual(unknown, ['UQRP_A', 'UQRP_PROT']);
  });

  it('reads the environment of the process as a copy', () => {
    const env = readEnvironment();
    env.UQRP_HOST = 'changed';
    assert.notEqual(readEnvironment().UQRP_HOST, 'changed');
  });
});

/** Cells of the table under a heading of docs/OPERATIONS.md, without head and rule. */
function documentedTable(heading: string): string[][] {
  const page = readFileSync(new URL('../../docs/OPERATIONS.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/OPERATIONS.md', () => {
  it('prints the table of variables', () => {
    const table = Object.entries(ENVIRONMENT).map(([name, row]) => [
      name,
      'shown' in row ? row.shown : row.fallback,
      row.meaning,
    ]);
    assert.deepEqual(documentedTable('Environment'), table);
  });

  it('prints the table of limits', () => {
    const table = Object.entries(LIMITS).map(([name, value]) => [name, value.toLocaleString('en-US')]);
    assert.deepEqual(
      documentedTable('Limits').map(([name, value]) => [name, value]),
      table,
    );
  });

  it('knows of no other variable', () => {
    const pages = readdirSync(new URL('../../docs/', import.meta.url)).filter((name) => name.endsWith('.md'));
    for (const page of pages) {
      const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
      for (const [name] of text.matchAll(/\bUQRP_[A-Z_]+\b/g))
        assert.ok(name in ENVIRONMENT, `${name} in ${page}`);
    }
  });
});
