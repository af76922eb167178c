import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  EDE,
  edeName,
  extendedErrorName,
  parseRrtype,
  RCODE,
  RRTYPE,
  rcodeName,
  rrtypeName,
} from './codes.ts';

test('every mnemonic is read back, in any case, as its number', () => {
  for (const [name, type] of Object.entries(RRTYPE)) {
    assert.equal(rrtypeName(type), name);
    assert.equal(parseRrtype(name), type);
    assert.equal(parseRrtype(name.toLowerCase()), type);
    assert.equal(parseRrtype(`TYPE${type}`), type);
  }
});

test('every registered number up to 69, and obsolete and experimental ones beyond, has its mnemonic', () => {
  // 54 and 69 are unassigned in IANA's registry.
  const nameless = Array.from({ length: 69 }, (_, i) => i + 1).filter((type) =>
    /^TYPE/.test(rrtypeName(type)),
  );
  assert.deepEqual(nameless, [54, 69]);
  const names = [
    'NSAP-PTR',
    'EID',
    'NIMLOC',
    'ATMA',
    'SINK',
    'NINFO',
    'RKEY',
    'TALINK',
    'UINFO',
    'UID',
    'GID',
    'UNSPEC',
  ];
  assert.deepEqual(names.map(parseRrtype), [23, 31, 32, 34, 40, 56, 57, 58, 100, 101, 102, 103]);
});

test('no two names of a table share a number', () => {
  for (const table of [RRTYPE, RCODE, EDE]) {
    assert.equal(new Set(Object.values(table)).size, Object.keys(table).length);
  }
});

test('types without a mnemonic', () => {
  assert.equal(rrtypeName(666), 'TYPE666');
  assert.equal(rrtypeName(0), 'TYPE0');
  const cases: readonly (readonly [string, number | null])[] = [
    ['TYPE666', 666],
    ['type1', 1],
    ['16', 16],
    ['1', 1],
    ['65535', 65535],
    ['TYPE65535', 65535],
    ['0', null],
    ['TYPE0', null],
    ['65536', null],
    ['TYPE65536', null],
    ['100000', null],
    ['016', null],
    ['-1', null],
    ['1.5', null],
    ['1e3', null],
    [' 1', null],
    ['TYPE', null],
    ['TYPE 1', null],
    ['', null],
    ['NOSUCH', null],
    ['constructor', null],
    ['__proto__', null],
  ];
  for (const [text, type] of cases) assert.equal(parseRrtype(text), type, text);
});

test('names of response codes and extended errors', () => {
  assert.equal(rcodeName(3), 'NXDOMAIN');
  assert.equal(rcodeName(16), 'BADVERS');
  assert.equal(rcodeName(99), 'RCODE99');
  assert.equal(edeName(20), 'NOT_AUTHORITATIVE');
  assert.equal(edeName(9999), 'EDE9999');
});

test('extended errors have the purposes of the registry', () => {
  const purposes =
    'Other|Unsupported DNSKEY algorithm|Unsupported DS digest type|Stale answer|Forged answer|' +
    'DNSSEC indeterminate|DNSSEC bogus|Signature expired|Signature not yet valid|DNSKEY missing|' +
    'RRSIGs missing|No zone key bit set|NSEC missing|Cached error|Not ready|Blocked|Censored|Filtered|' +
    'Prohibited|Stale NXDOMAIN answer|Not authoritative|Not supported|No reachable authority|' +
    'Network error|Invalid data|Signature expired before valid|Too early|' +
    'Unsupported NSEC3 iterations value|Unable to conform to policy|Synthesized|Invalid query type';
  assert.deepEqual(Object.values(EDE).map(extendedErrorName), purposes.split('|'));
  assert.equal(extendedErrorName(99), 'Extended error 99');
});
