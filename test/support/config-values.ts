import type { VariableName } from '../../src/ops/config/env.ts';

export const SECRET = 'x'.repeat(32);
const LABEL_63 = 'a'.repeat(63);
const ZONE_127 = `${LABEL_63}.${LABEL_63}`;

/** Values on both sides of every rule. */
export const VALUES: readonly [VariableName, readonly string[], readonly string[]][] = [
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
  ['UQRP_DNSSEC_ROLLOVER', ['off', 'auto', ''], ['on', 'AUTO']],
  ['UQRP_DNSSEC_ZSK_DAYS', ['15', '3650'], ['14', '3651', '30d']],
  ['UQRP_DNSSEC_KSK_DAYS', ['15', '3650'], ['14', '3651', '1.5']],
  ['UQRP_DEMO', ['on', 'off'], ['ON', 'true', '1']],
  ['UQRP_BILLING', ['on', 'off'], ['ON', 'true', '1']],
  ['UQRP_DATASETS', ['on', 'off'], ['ON', 'true', '1']],
  ['UQRP_DATASETS_ASOF', ['on', 'off'], ['ON', 'true', '1']],
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
  [
    'UQRP_FEED_URL',
    [''],
    [
      'nats://',
      'nats://h',
      'nats://h:0',
      'nats://h:65536',
      'nats://u:p@h:1',
      'nats://h:1/a',
      'nats://h:1,',
      'tls://h:1',
      'h:1',
    ],
  ],
  ['UQRP_FEED_CREDENTIALS', [''], ['a\0b']],
  ['UQRP_DNS_RATE', ['0', '1', '1000000'], ['1000001', '-1', 'off']],
  ['UQRP_UDP', ['auto', 'node'], ['batch', 'AUTO', 'off']],
  ['UQRP_WORKERS', ['1', '256'], ['0', '257', 'all']],
  ['UQRP_TOKEN', ['svck_1', 'a.b-c_d', '~'.repeat(4096)], ['a b', 'a\nb', 'grün', '~'.repeat(4097)]],
  ['UQRP_QUERY_TOKEN', ['svcq0v', 'A1'.repeat(29)], ['a.b', 'a-b', 'a'.repeat(59)]],
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
