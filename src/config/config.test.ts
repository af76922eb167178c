import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
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
const ZONE_127 = `${LABEL_63}.${LABEL_63}`;

/** Values on both sides of every rule. */
const VALUES: readonly [VariableName, readonly string[], readonly string[]][] = [
  ['UQRP_HOST', ['0.0.0.0', '::1', '::', '192.0.2.1', ''], ['localhost', '127.1', '1.2.3.4:53', '[::1]']],
  ['UQRP_HTTP_PORT', ['0', '1', '65535'], ['65536', '-1', '08', '80.0', '1e3', ' 80', 'http', '0x50']],
  ['UQRP_MARKER', ['uqrp', 'UQRP', 'a-1', LABEL_63], ['a.b', '-a', 'a-', 'a_b', `${LABEL_63}a`, 'ü']],
  ['UQRP_TLDS', ['net', 'net,org', 'NET, org', LABEL_63], [',', 'net,', 'net,NET', 'co.uk', `${LABEL_63}a`]],
  [
    'UQRP_ZONES',
    ['dns.example.com,example.co.uk', 'Example.COM.', 'a.example.com, b.example.com', 'internal', ZONE_127],
    [
      `a${ZONE_127}`,
      'example.com,dns.example.com',
      'dns.example.com,example.com',
      'example.com,EXAMPLE.com',
      'example..com',
      'a_b.example',
      '.',
      'example.com,',
    ],
  ],
  ['UQRP_HTTP_HOST', ['0.0.0.0', '::1', ''], ['localhost', '127.1']],
  [
    'UQRP_METRICS',
    ['127.0.0.1:9100', '0.0.0.0:0', '[::1]:9100', ''],
    ['9100', ':9100', 'localhost:9100', '127.0.0.1', '::1:9100', '[127.0.0.1]:1', '127.0.0.1:65536'],
  ],
  [
    'UQRP_PUBLIC_URL',
    ['https://api.example.com', 'http://localhost:8080/', 'https://api.example.com:8443'],
    ['api.example.com', 'ftp://a', 'https://a/b', 'https://a?q', 'https://u@a', 'https://a/#b'],
  ],
  [
    'UQRP_TRUSTED_PROXIES',
    ['10.0.0.0/8', '192.0.2.1, 2001:db8::/32', '0.0.0.0/0', '::1/128', ''],
    ['proxy', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.0/8/8', 'fe80::1%eth0', '10.0.0.0/8,', '10.0/8'],
  ],
  ['UQRP_LOG_FORMAT', ['json', 'pretty', ''], ['JSON', 'text']],
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
  ['UQRP_HTTP2', ['own', 'node'], ['nghttp2', 'OWN', 'auto', 'off']],
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
      httpHost: '127.0.0.1',
      httpPort: 8080,
      dnsPort: 5300,
      dotPort: 8853,
      dohPort: 8443,
      metrics: null,
      publicUrl: null,
      trustedProxies: [],
      tls: null,
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
      http2: 'own',
      logFormat: null,
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
      acceptNewStore: false,
    });
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.nameServers[0]?.addresses));
  });

  for (const [name, good, bad] of VALUES) {
    it(`checks ${name}`, () => {
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

  it('takes full names of zones in place of marker and top-level labels', () => {
    const env = { UQRP_MARKER: 'data', UQRP_TLDS: 'org', UQRP_ZONES: 'DNS.Example.com., example.co.uk' };
    assert.deepEqual(loadConfig(env).zones, ['dns.example.com', 'example.co.uk']);
  });

  it('binds REST apart, and says where metrics, links and proxies are', () => {
    const { host, httpHost, metrics, publicUrl, trustedProxies, logFormat } = loadConfig({
      UQRP_HOST: '0.0.0.0',
      UQRP_HTTP_HOST: '127.0.0.1',
      UQRP_METRICS: '[::1]:9100',
      UQRP_PUBLIC_URL: 'HTTPS://API.example.com/',
      UQRP_TRUSTED_PROXIES: '10.0.0.0/8, 2001:DB8::1',
      UQRP_LOG_FORMAT: 'pretty',
    });
    assert.deepEqual(
      [host, httpHost, metrics, publicUrl, trustedProxies, logFormat],
      [
        '0.0.0.0',
        '127.0.0.1',
        { host: '::1', port: 9100 },
        'https://api.example.com',
        ['10.0.0.0/8', '2001:db8::1'],
        'pretty',
      ],
    );
    assert.equal(loadConfig({}, { acceptNewStore: true }).acceptNewStore, true);
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

  it('checks combinations', () => {
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
    const apart = { UQRP_HTTP_PORT: '8443', UQRP_HOST: '192.0.2.1', UQRP_HTTP_HOST: '127.0.0.1' };
    assert.deepEqual(faultsOf(apart), []);
    assert.deepEqual(faultsOf({ ...apart, UQRP_HTTP_HOST: '::' }), [
      'UQRP_DOH_PORT must differ from UQRP_HTTP_PORT',
    ]);
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
