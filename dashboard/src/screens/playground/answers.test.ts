import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { type DnsMessage, decodeMessage, typeName, typeOf } from '../../../../sdk/src/dns.ts';
import { type SignedZone, signedZone } from '../../../../test/support/sdk/signed-zone.ts';
import { lockedPlaces, tokenPlaces } from '../../format/masked-name.ts';
import en from '../../text/en.json' with { type: 'json' };
import type { Arrived } from './asked.ts';
import { chainOf } from './chain.ts';
import { comparedRows } from './compare.ts';
import { digText } from './dig-text.ts';
import { type Examined, examine, isFailure, placeToChange, withChanges } from './examined.ts';
import { headlineOf } from './headline.ts';
import { keptText, verdictOf } from './verdict.ts';

const APEX = 'uqrp.net';
const GREETING = `get.greeting.open.v1.${APEX}`;
const { playground: texts } = en;

let zone: SignedZone;
before(async () => {
  zone = await signedZone();
  // The zone has signed at its own time.
  mock.timers.enable({ apis: ['Date'], now: zone.clock.now });
});
after(() => mock.timers.reset());

function arrivedOf(name: string, type = 'TXT'): Arrived {
  const code = typeOf(type) ?? 0;
  const keyType = typeOf('DNSKEY') ?? 0;
  return {
    id: 1,
    at: zone.clock.now,
    asked: { name, type, dnssecOk: true, checkingDisabled: false, transport: 'POST', zone: APEX },
    query: zone.query(name, code),
    octets: zone.ask(name, code),
    keyOctets: zone.ask(APEX, keyType),
    keyQuery: zone.query(APEX, keyType),
    times: [9, null],
    json: null,
  };
}

async function examinedOf(arrived: Arrived, changes: readonly number[] = [], ds = ''): Promise<Examined> {
  return await examine(arrived, withChanges(arrived.octets, new Set(changes)), ds);
}

/** SERVFAIL with a TXT record that nobody signed: a provider of data did not answer. */
function failed(message: DnsMessage): DnsMessage {
  return { ...message, rcode: 2, records: message.records.filter(({ type }) => typeName(type) === 'TXT') };
}

function states(arrived: Arrived, examined: Examined) {
  return chainOf(arrived, examined)?.map(({ name, link }) => `${name} ${link?.state ?? '-'}`);
}

describe('the verdict', () => {
  it('of an answer says that it is signed, how long it is kept and how long it took', async () => {
    const arrived = arrivedOf(GREETING);
    const verdict = verdictOf(await examinedOf(arrived), 9, false);
    assert.equal(verdict.tone, 'good');
    assert.match(verdict.text, /^Signed, both signatures hold, cacheable for a minute, 9/);
  });

  it('of a change in the page is another one than of a change on the way', async () => {
    const arrived = arrivedOf(GREETING);
    const changed = await examinedOf(arrived, [placeToChange(arrived.octets)]);
    assert.ok(verdictOf(changed, 9, true).text.startsWith(texts.verdictChanged));
    assert.ok(verdictOf(changed, 9, false).text.startsWith(texts.verdictBad));
    const noMessage = { ...changed, message: null, check: null, fault: 'too short' };
    assert.deepEqual(verdictOf(noMessage, 9, true), { tone: 'bad', text: texts.verdictChangedUnreadable });
    assert.match(verdictOf(noMessage, 9, false).text, /^No DNS message: too short/);
  });

  it('of a failure never speaks of signatures that do not hold', async () => {
    const examined = await examinedOf(arrivedOf(GREETING));
    const { message } = examined;
    assert.ok(message !== null && !isFailure(message));
    assert.ok(isFailure(failed(message)));
    const check = { result: 'not_valid', signatures: [], faults: ['unsigned_records'] } as const;
    const verdict = verdictOf({ ...examined, message: failed(message), check }, 9, false);
    assert.deepEqual(
      [verdict.tone, verdict.text.includes('SERVFAIL: a failure is not signed')],
      ['warn', true],
    );
    // An error code over records that are signed is no failure of the server's.
    assert.ok(!isFailure({ ...message, rcode: 2 }));
    assert.ok(isFailure(decodeMessage(zone.ask(`get.a.closed.v1.${APEX}`, 16))));
  });

  it('has the TTL in the longest unit that fits', () => {
    const message = decodeMessage(zone.ask(GREETING, 16));
    for (const [ttl, text] of [
      [0, texts.keptNever],
      [1, 'cacheable for a second'],
      [90, 'cacheable for 90 seconds'],
      [3600, 'cacheable for an hour'],
      [172_800, 'cacheable for 2 days'],
    ] as const) {
      const records = message.records.map((record) => ({ ...record, ttl }));
      assert.equal(keptText({ ...message, records }), text);
    }
  });
});

describe('the chain of trust', () => {
  it('is good from the keys on, open at the parent, and broken where something was changed', async () => {
    const arrived = arrivedOf(GREETING);
    const whole = await examinedOf(arrived);
    assert.deepEqual(states(arrived, whole), ['DS -', 'KSK open', 'ZSK good', 'TXT good']);
    const ds = whole.keys?.ds.map(({ text }) => text).join('\n') ?? '';
    const anchored = await examinedOf(arrived, [], ds);
    assert.deepEqual(states(arrived, anchored), ['DS -', 'KSK good', 'ZSK good', 'TXT good']);
    const changed = await examinedOf(arrived, [placeToChange(arrived.octets)]);
    assert.deepEqual(states(arrived, changed), ['DS -', 'KSK open', 'ZSK good', 'TXT bad']);
    const other = await examinedOf(arrived, [], `${APEX}. IN DS 1 13 2 ${'AB'.repeat(32)}`);
    assert.deepEqual(states(arrived, other)?.slice(0, 3), ['DS -', 'KSK bad', 'ZSK good']);
  });

  it('is broken at the keys when one of them was changed', async () => {
    const arrived = arrivedOf(GREETING);
    const keyOctets = arrived.keyOctets ?? new Uint8Array();
    const changed = withChanges(keyOctets, new Set([placeToChange(keyOctets)]));
    const examined = await examinedOf({ ...arrived, keyOctets: changed });
    assert.deepEqual(states(arrived, examined)?.slice(-2), ['ZSK bad', 'TXT bad']);
  });

  it('ends in what is signed: a refusal in nothing, an empty answer in its proof', async () => {
    const refused = arrivedOf(`get.a.closed.v1.${APEX}`);
    assert.equal(states(refused, await examinedOf(refused))?.at(-1), 'TXT open');
    const empty = arrivedOf(`get.absent.open.v1.${APEX}`);
    assert.match(states(empty, await examinedOf(empty))?.at(-1) ?? '', /^(?:SOA|NSEC) good$/);
  });

  it('is none for a name outside of the zones, and none where the keys were not given', async () => {
    const arrived = arrivedOf(GREETING);
    const examined = await examinedOf(arrived);
    assert.equal(chainOf({ ...arrived, asked: { ...arrived.asked, zone: null } }, examined), null);
    const keyless = { ...arrived, keyOctets: zone.ask(`get.a.closed.v1.${APEX}`, 16) };
    const { keys, keysFailure, check } = await examinedOf(keyless);
    assert.deepEqual([keys, keysFailure, check?.result], [null, 'REFUSED', 'not_checked']);
  });
});

describe('the headline', () => {
  it('is the value, or what the code means', () => {
    const message = decodeMessage(zone.ask(GREETING, 16));
    assert.deepEqual(headlineOf(message), { headline: 'hello', detail: '' });
    assert.equal(headlineOf(failed(message)).headline, texts.headServfail);
    const of = (name: string, type: string) => headlineOf(decodeMessage(zone.ask(name, typeOf(type) ?? 0)));
    assert.equal(of(`get.absent.open.v1.${APEX}`, 'TXT').headline, texts.headNothing);
    assert.equal(of(`get.a.closed.v1.${APEX}`, 'TXT').headline, texts.headRefused);
    assert.deepEqual(of(APEX, 'DNSKEY'), { headline: '2 records', detail: '' });
    assert.ok(of(APEX, 'SOA').headline.length <= 121);
  });
});

describe('two answers', () => {
  it('are compared part by part', () => {
    const [one, other] = [arrivedOf(GREETING), arrivedOf(`get.absent.open.v1.${APEX}`)];
    const rows = new Map(comparedRows(one, other).map((row) => [row.name, row]));
    assert.deepEqual(rows.get('Code')?.values, ['NOERROR', 'NOERROR']);
    assert.equal(rows.get('Code')?.isSame, true);
    assert.deepEqual(rows.get('Value')?.values, ['hello', texts.headNothing]);
    assert.deepEqual([rows.get('f')?.values[1], rows.get('f')?.isSame], ['', false]);
    // Fields of either answer come before what is around it.
    assert.deepEqual(
      comparedRows(other, one)
        .map(({ name }) => name)
        .slice(-5, -3),
      ['ttl', 'TTL'],
    );
    assert.ok(comparedRows(one, one).every(({ isSame }) => isSame));
  });
});

describe('an answer as dig prints it', () => {
  it('has the sections with their records', () => {
    const text = digText(decodeMessage(zone.ask(GREETING, 16)), 8.6);
    for (const part of [
      'status: NOERROR, id: 0',
      ';; flags: qr aa rd; QUERY: 1, ANSWER: 3, AUTHORITY: 0, ADDITIONAL: 1',
      `;${GREETING}. IN TXT`,
      `;; ANSWER SECTION:\n${GREETING}. 60 IN TXT "`,
      ';; Query time: 9 msec',
    ]) {
      assert.ok(text.includes(part), `${part}\n${text}`);
    }
    assert.ok(!text.includes('AUTHORITY SECTION'));
  });
});

describe('octets that stay as they are', () => {
  it('are every name with a token, and no other field', () => {
    const name = `get.auth-svcq${'a1b2'.repeat(13)}.greeting.open.v1.${APEX}`;
    const octets = zone.ask(name, 16);
    const locked = lockedPlaces(octets, decodeMessage(octets).spans);
    for (const at of tokenPlaces(octets)) assert.ok(locked.has(at));
    assert.deepEqual([locked.has(12), locked.has(11), locked.has(octets.length - 1)], [true, false, false]);
    const open = zone.ask(GREETING, 16);
    assert.equal(lockedPlaces(open, decodeMessage(open).spans).size, 0);
  });
});
