import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import {
  answerFields,
  askName,
  checkDescription,
  codeOf,
  NOW,
} from '../../test/support/services/check-service.ts';
import { GEOIP_ABOUT, makeGeoip, parseIpLabel } from './geoip.ts';
import {
  type AddressDatabase,
  type AddressFacts,
  factsOf,
  GEOIP_FILE,
  geoipPaths,
  isDatabase,
  type LoadedDatabase,
  loadDatabase,
  openDatabase,
  openLoaded,
  updateDatabase,
} from './geoip-files.ts';

const dir = mkdtempSync(join(tmpdir(), 'uqrp-geoip-'));
after(() => rmSync(dir, { recursive: true, force: true }));

/** A database in memory. */
function fake(facts: Readonly<Record<string, AddressFacts>>): AddressDatabase {
  return { get: (address) => facts[address] ?? null, type: 'fake', builtAt: 0 };
}

function serve(database: AddressDatabase | null) {
  return makeGeoip({ current: () => database });
}

const [, inTheBox] = geoipPaths(dir, null);
const installed = { skip: inTheBox === undefined && 'the database is an optional package' };
/** The same package has a file with IPv4 addresses alone. */
const ipv4Only = join(dirname(inTheBox ?? ''), 'geo-whois-asn-country-ipv4.mmdb');

test('labels of addresses', () => {
  for (const [label, address] of [
    ['ip-8-8-8-8', '8.8.8.8'],
    ['ip-255-255-255-255', '255.255.255.255'],
    ['IP-1-2-3-4', '1.2.3.4'],
    ['ip-2001-4860-4860--8888', '2001:4860:4860::8888'],
    ['ip-2001-db8-0-0-0-0-0-1', '2001:db8:0:0:0:0:0:1'],
    ['ip---1', '::1'],
  ] as const) {
    assert.equal(parseIpLabel(label), address, label);
  }
  for (const label of [
    '',
    'ip-',
    'ip-me',
    'ip-auto',
    'ip-8-8-8',
    'ip-8-8-8-8-8',
    'ip-256-1-1-1',
    'ip-08-8-8-8',
    'ip-8.8.8.8',
    'ip-0x8-8-8-8',
    'ip-2001-db8',
    'ip-2001-db8---1',
    'ip-1--2--3',
    'ip-12345--1',
    'ip-fe80--1%eth0',
    'ip--8-8-8-8',
    '8-8-8-8',
    'ip8-8-8-8',
  ]) {
    assert.equal(parseIpLabel(label), null, label);
  }
});

test('its description holds', () => checkDescription(serve(null)));

test('all known fields are sent, in order; IPv6 in its canonical form', async () => {
  const service = serve(
    fake({
      '8.8.8.8': {
        cc: 'US',
        region: 'California',
        city: 'Mountain View; really',
        lat: 37.4,
        lon: -122.1,
        tz: 'America/Los_Angeles',
        asn: 15_169,
        org: 'Göögle 100%',
      },
      '2001:4860:4860::8888': { cc: 'US' },
      '9.9.9.9': { lat: 1, lon: 2 },
      '1.1.1.1': { cc: 'ZZ' },
    }),
  );
  const outcome = await askName(service, 'geoip.ip-8-8-8-8.public.v1');
  assert.ok(outcome.kind === 'answer');
  assert.equal(
    Buffer.from(outcome.text).toString(),
    'v=svc1;s=ok;t=data;ip=8.8.8.8;cc=US;country=United States;region=California;city=Mountain View%3B really;' +
      'lat=37.4;lon=-122.1;tz=America/Los_Angeles;asn=15169;org=G%C3%B6%C3%B6gle 100%25;ts=1767225600',
  );
  assert.deepEqual([outcome.ttl, outcome.until], [3600, NOW + 3_600_000]);
  assert.equal(answerFields(outcome, GEOIP_ABOUT).org, 'Göögle 100%');
  const ipv6 = answerFields(
    await askName(service, 'geoip.ip-2001-4860-4860-0-0-0-0-8888.public.v1'),
    GEOIP_ABOUT,
  );
  assert.deepEqual(ipv6, { ip: '2001:4860:4860::8888', cc: 'US', country: 'United States' });
  const place = answerFields(await askName(service, 'geoip.ip-9-9-9-9.public.v1'), GEOIP_ABOUT);
  assert.deepEqual(place, { ip: '9.9.9.9', lat: 1, lon: 2 });
  answerFields(await askName(service, 'geoip.ip-1-1-1-1.public.v1'), GEOIP_ABOUT);
});

test('private and reserved addresses are E004, even when the database has them', async () => {
  const everything: AddressDatabase = { get: () => ({ cc: 'US' }), type: 'fake', builtAt: 0 };
  for (const ip of [
    '0-0-0-0',
    '10-0-0-1',
    '10-255-255-255',
    '100-64-0-1',
    '127-0-0-1',
    '169-254-169-254',
    '172-16-0-1',
    '172-31-255-255',
    '192-0-2-1',
    '192-168-1-1',
    '198-18-0-1',
    '198-51-100-1',
    '203-0-113-1',
    '224-0-0-1',
    '240-0-0-1',
    '255-255-255-255',
    '--1',
    '0-0-0-0-0-0-0-0',
    '--ffff-808-808',
    'fe80--1',
    'fc00--1',
    'fd12-3456--1',
    'ff02--1',
    '2001-db8--1',
  ]) {
    const outcome = await serve(everything).answer([`ip-${ip}`], NOW);
    assert.equal(codeOf(outcome), 'E004', ip);
    assert.ok(outcome.kind === 'answer' && outcome.ttl === 30, ip);
  }
  for (const ip of [
    '9-255-255-255',
    '11-0-0-0',
    '172-15-255-255',
    '172-32-0-0',
    '192-167-255-255',
    '2a00--1',
  ]) {
    assert.equal(codeOf(await serve(everything).answer([`ip-${ip}`], NOW)), null, ip);
  }
});

test('unknown is E004, no database E013, anything else FORMERR', async () => {
  assert.equal(codeOf(await serve(fake({})).answer(['ip-8-8-8-8'], NOW)), 'E004');
  assert.equal(codeOf(await serve(null).answer(['ip-8-8-8-8'], NOW)), 'E013');
  for (const params of [[], ['ip-me'], ['8-8-8-8'], ['me', 'ip-8-8-8-8'], ['ip-8-8-8-8', 'ip-8-8-8-8']]) {
    assert.equal((await serve(null).answer(params, NOW)).kind, 'malformed', params.join('.'));
  }
});

test('rows of either kind of database', () => {
  const maxmind = {
    country: { iso_code: 'GB', names: { en: 'United Kingdom', de: 'Vereinigtes Königreich' } },
    subdivisions: [{ iso_code: 'ENG', names: { en: 'England' } }, { names: { en: 'Kent' } }],
    city: { names: { en: 'Dover' } },
    location: { latitude: 51.12345678, longitude: 1.3, time_zone: 'Europe/London' },
    autonomous_system_number: 5,
    autonomous_system_organization: 'Five',
  };
  assert.deepEqual(factsOf(maxmind), {
    cc: 'GB',
    region: 'England',
    city: 'Dover',
    lat: 51.1235,
    lon: 1.3,
    tz: 'Europe/London',
    asn: 5,
    org: 'Five',
  });
  const flat = {
    country_code: 'FR',
    state1: 'Normandy',
    state2: '',
    city: 'Caen',
    latitude: '49.2',
    longitude: '-0.4',
    timezone: '',
  };
  assert.deepEqual(factsOf(flat), { cc: 'FR', region: 'Normandy', city: 'Caen', lat: 49.2, lon: -0.4 });
  for (const row of [
    {},
    { country_code: 'fr' },
    { country_code: 7 },
    { latitude: 91 },
    { country: [] },
    { asn: 'x' },
  ]) {
    assert.deepEqual(factsOf(row), {}, JSON.stringify(row));
  }
});

test('the database that ships with the package knows both kinds of address', installed, async () => {
  const service = makeGeoip(await watch([inTheBox!]));
  for (const [name, cc] of [
    ['geoip.ip-193-0-6-139.public.v1', 'NL'],
    ['geoip.ip-8-8-8-8.public.v1', 'US'],
    ['geoip.ip-2001-4860-4860--8888.public.v1', 'US'],
  ] as const) {
    assert.equal(answerFields(await askName(service, name), GEOIP_ABOUT).cc, cc);
  }
});

const faults: unknown[] = [];
let swaps = 0;

async function watch(
  paths: readonly string[],
  onSwap: (loaded: LoadedDatabase) => void | Promise<void> = () => {},
) {
  const loaded = await loadDatabase({ paths, onFault: (fault) => faults.push(fault) });
  let database = openLoaded(loaded.first);
  const watching = loaded.watch(async (next) => {
    await onSwap(next);
    swaps++;
    database = openLoaded(next);
  });
  after(() => watching.close());
  return { check: () => watching.check(), current: () => database };
}

test('`geoip update` swaps the file under a running service', installed, async () => {
  const dataDir = join(dir, 'data');
  const source = await watch(geoipPaths(dataDir, null));
  const service = makeGeoip(source);
  const ipv6 = 'geoip.ip-2001-4860-4860--8888.public.v1';
  assert.equal(codeOf(await askName(service, ipv6)), null);

  updateDatabase(ipv4Only, dataDir);
  assert.deepEqual(readdirSync(dataDir), [GEOIP_FILE]);
  await source.check();
  assert.equal(swaps, 1);
  assert.equal(codeOf(await askName(service, ipv6)), 'E004');
  assert.equal(codeOf(await askName(service, 'geoip.ip-8-8-8-8.public.v1')), null);

  await source.check();
  assert.equal(swaps, 1, 'the same file is not read again');

  // A file that is none is refused; one that was put there by other means does no harm.
  const noDatabase = join(dir, 'none.mmdb');
  writeFileSync(noDatabase, 'no database');
  assert.throws(() => updateDatabase(noDatabase, dataDir));
  assert.throws(() => updateDatabase(join(dir, 'absent.mmdb'), dataDir));
  assert.deepEqual(readdirSync(dataDir), [GEOIP_FILE]);
  copyFileSync(noDatabase, join(dataDir, GEOIP_FILE));
  await source.check();
  assert.deepEqual([swaps, faults.length], [1, 1]);
  assert.equal(codeOf(await askName(service, 'geoip.ip-8-8-8-8.public.v1')), null);

  updateDatabase(inTheBox!, dataDir);
  await source.check();
  assert.equal(swaps, 2);
  assert.equal(codeOf(await askName(service, ipv6)), null);
});

test('a database may come later, and is the one that was named', installed, async () => {
  const named = join(dir, 'named.mmdb');
  const [only, ...others] = geoipPaths(dir, named);
  assert.deepEqual([only, others], [named, []]);
  assert.equal(isDatabase(named), false);
  const source = await watch([named]);
  const service = makeGeoip(source);
  assert.equal(codeOf(await askName(service, GEOIP_ABOUT.examples[0])), 'E013');
  copyFileSync(ipv4Only, named);
  await source.check();
  assert.equal(codeOf(await askName(service, GEOIP_ABOUT.examples[0])), null);
  assert.ok(isDatabase(named) && existsSync(named));
});

test('a swap that fails is tried again, and a database that is gone is none', installed, async () => {
  const path = join(dir, 'retried.mmdb');
  copyFileSync(ipv4Only, path);
  let refusals = 1;
  const given: LoadedDatabase[] = [];
  const source = await watch([path], (next) => {
    if (refusals-- > 0) throw new Error('refused');
    given.push(next);
  });
  const first = source.current();
  copyFileSync(inTheBox!, path);
  await assert.rejects(source.check(), /^Error: refused$/);
  assert.equal(source.current(), first);
  await source.check();
  assert.deepEqual([given.length, source.current()?.get('2001:4860:4860::8888')?.cc], [1, 'US']);
  rmSync(path);
  await source.check();
  await source.check();
  assert.deepEqual([given.length, given[1], source.current()], [2, null, null]);
});

test('a damaged database at the start leads to the next path', installed, async () => {
  const damaged = join(dir, 'damaged.mmdb');
  writeFileSync(damaged, 'no database');
  const before = faults.length;
  const source = await watch([damaged, ipv4Only]);
  assert.equal(source.current()?.get('8.8.8.8')?.cc, 'US');
  assert.equal(faults.length, before + 1);
});

test('damaged databases are refused', installed, async () => {
  assert.throws(() => openDatabase(Buffer.alloc(0)));
  assert.throws(() => openDatabase(Buffer.alloc(100_000)));
});
