import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SECRET, VALUES } from '../../../test/support/config-values.ts';
import { ConfigError, loadConfig } from './config.ts';
import { ENVIRONMENT, readEnvironment } from './env.ts';

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
  return [];
}

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
      proxyProtocol: [],
      tls: null,
      zones: ['uqrp.net'],
      role: 'all',
      databaseUrl: null,
      secret: null,
      feed: null,
      restRate: true,
      dnsLimits: { responses: 200, streamQueries: 1000, connections: 100, httpsRequests: 6000 },
      demo: false,
      organizations: false,
      auditDays: 90,
      billing: false,
      front: true,
      btc: false,
      datasets: false,
      datasetsAsOf: false,
      datasetsLog: null,
      geoipDb: null,
      sync: true,
      nameServers: [
        { label: 'ns1', addresses: ['192.0.2.1'] },
        { label: 'ns2', addresses: ['192.0.2.2'] },
      ],
      dnssec: 'full',
      keyDays: null,
      nodeName: 'uqrp',
      udp: 'auto',
      xdp: null,
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
    const { host, httpHost, metrics, publicUrl, trustedProxies, proxyProtocol, logFormat } = loadConfig({
      UQRP_HOST: '0.0.0.0',
      UQRP_HTTP_HOST: '127.0.0.1',
      UQRP_METRICS: '[::1]:9100',
      UQRP_PUBLIC_URL: 'HTTPS://API.example.com/',
      UQRP_TRUSTED_PROXIES: '10.0.0.0/8, 2001:DB8::1',
      UQRP_PROXY_PROTOCOL: '192.0.2.0/24,2001:DB8::2',
      UQRP_LOG_FORMAT: 'pretty',
    });
    assert.deepEqual(
      [host, httpHost, metrics, publicUrl, trustedProxies, proxyProtocol, logFormat],
      [
        '0.0.0.0',
        '127.0.0.1',
        { host: '::1', port: 9100 },
        'https://api.example.com',
        ['10.0.0.0/8', '2001:db8::1'],
        ['192.0.2.0/24', '2001:db8::2'],
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

    assert.match(
      faultsOf({ UQRP_ROLE: 'edge' }).join(),
      /^UQRP_ROLE edge needs UQRP_FEED_CREDENTIALS, the file/,
    );
    assert.deepEqual(faultsOf({ UQRP_ROLE: 'edge', UQRP_SYNC: 'off' }), []);
    const refused = { UQRP_ROLE: 'edge', UQRP_DATABASE_URL: 'postgres://h/d', UQRP_SECRET: SECRET };
    const [url, secret, ...others] = faultsOf({ ...refused, UQRP_SYNC: 'off' });
    assert.match(`${url} ${secret}`, /refuses UQRP_DATABASE_URL: .* refuses UQRP_SECRET: /);
    assert.deepEqual(others, []);

    assert.deepEqual(faultsOf({ UQRP_DNS_PORT: '8080' }), ['UQRP_DNS_PORT must differ from UQRP_HTTP_PORT']);
    assert.deepEqual(faultsOf({ UQRP_DOH_PORT: '5300' }), ['UQRP_DOH_PORT must differ from UQRP_DNS_PORT']);
    assert.deepEqual(faultsOf({ UQRP_DOT_PORT: '5300' }), ['UQRP_DOT_PORT must differ from UQRP_DNS_PORT']);
    const free = { UQRP_HTTP_PORT: '0', UQRP_DNS_PORT: '0', UQRP_DOT_PORT: '0', UQRP_DOH_PORT: '0' };
    assert.deepEqual(faultsOf(free), []);
    const apart = { UQRP_HTTP_PORT: '8443', UQRP_HOST: '192.0.2.1', UQRP_HTTP_HOST: '127.0.0.1' };
    assert.deepEqual(faultsOf(apart), []);
    // One of the two binds every address (Z02): a start would fail later, with EADDRINUSE.
    for (const every of ['::', '0.0.0.0']) {
      for (const name of ['UQRP_HTTP_HOST', 'UQRP_HOST']) {
        assert.deepEqual(faultsOf({ ...apart, [name]: every }), [
          'UQRP_DOH_PORT must differ from UQRP_HTTP_PORT',
        ]);
      }
    }
  });

  it('has each limit of DNS by address by itself; a UDP rate of 0 switches off those that are not set', () => {
    const limitsOf = (env: Record<string, string>) => loadConfig(env).dnsLimits;
    const defaults = { responses: 200, streamQueries: 1000, connections: 100, httpsRequests: 6000 };
    const off = { responses: 0, streamQueries: 0, connections: 0, httpsRequests: 0 };
    for (const [name, key] of [
      ['UQRP_DNS_STREAM_RATE', 'streamQueries'],
      ['UQRP_DNS_CONNECTIONS', 'connections'],
      ['UQRP_DOH_RATE', 'httpsRequests'],
    ] as const) {
      assert.deepEqual(limitsOf({ [name]: '0' }), { ...defaults, [key]: 0 });
      assert.deepEqual(limitsOf({ [name]: '7' }), { ...defaults, [key]: 7 });
      assert.deepEqual(limitsOf({ [name]: '7', UQRP_DNS_RATE: '0' }), { ...off, [key]: 7 });
    }
    assert.deepEqual(limitsOf({ UQRP_DNS_RATE: '0' }), off);
    assert.deepEqual(limitsOf({ UQRP_DNS_RATE: '9' }), { ...defaults, responses: 9 });
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
