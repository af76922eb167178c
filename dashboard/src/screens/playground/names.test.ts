import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeQuery } from '../../../../sdk/src/dns.ts';
import { encodeParam } from '../../../../src/protocol/query/params.ts';
import {
  hasTokenLabel,
  MASK,
  maskName,
  maskText,
  tokenPlaces,
  unmaskName,
} from '../../format/masked-name.ts';
import { EXPERIMENT_IDS, questionOf } from './experiments.ts';
import { mayBeAskedWhileTyping, partsOfName, stateOfName, withZone } from './name-parts.ts';
import { filledTemplate, placeholdersOf } from './service-template.ts';
import { snippetsOf } from './snippets.ts';

const ZONES = ['uqrp.net', 'example.org'];
const TOKEN = `svcq${'a1b2'.repeat(13)}`;
const NAME = `get.auth-${TOKEN}.eu.config.acme.v1.uqrp.net`;

describe('a name without its zone', () => {
  it('gets the first zone, and no other name does', () => {
    for (const [typed, meant] of [
      [' get.5-km-to-mi.units.public.v1. ', 'get.5-km-to-mi.units.public.v1.uqrp.net'],
      ['GET.a.acme.v1', 'GET.a.acme.v1.uqrp.net'],
      [`get.auth-${MASK}.a.acme.v1`, `get.auth-${MASK}.a.acme.v1.uqrp.net`],
      ['get.a.acme.v1.example.org', 'get.a.acme.v1.example.org'],
      ['google.com.', 'google.com.'],
      ['get.a.acme.v01', 'get.a.acme.v01'],
      ['uqrp.net', 'uqrp.net'],
    ] as const) {
      assert.equal(withZone(typed, ZONES), meant);
    }
    assert.equal(withZone('get.a.acme.v1', []), 'get.a.acme.v1');
    assert.deepEqual(
      [stateOfName('get.a.acme.v1', ZONES), stateOfName('google.com', ZONES)],
      ['bare', 'outside'],
    );
    assert.equal(mayBeAskedWhileTyping('get.a.acme.v1', ZONES), false);
  });
});

describe('names with a token', () => {
  it('the token is taken out, kept, and put back', () => {
    const masked = maskName(NAME, null);
    assert.deepEqual(masked, { name: `get.auth-${MASK}.eu.config.acme.v1.uqrp.net`, token: TOKEN });
    assert.deepEqual(maskName(masked.name, masked.token), masked);
    assert.equal(unmaskName(masked), NAME);
    assert.deepEqual(maskName('get.config.acme.v1.uqrp.net', TOKEN), {
      name: 'get.config.acme.v1.uqrp.net',
      token: null,
    });
  });

  it('any label that begins with auth- counts, also where the grammar has none', () => {
    for (const name of [NAME, 'AUTH-x', 'a.b.aUtH-x.c', 'get.auth-.a']) assert.ok(hasTokenLabel(name), name);
    for (const name of ['get.oauth-x.a.v1', 'authx.a']) assert.ok(!hasTokenLabel(name), name);
  });

  it('no text, no octets and no snippet show it', () => {
    const shown = [
      maskText(`\\000.${NAME}. 60 IN TXT "a"`),
      maskText(JSON.stringify({ name: NAME.toUpperCase() })),
      ...snippetsOf(
        { name: maskName(NAME, null).name, type: 'TXT', dnssecOk: true, checkingDisabled: true },
        { dns: { host: '127.0.0.1', port: 5300 }, origin: 'http://localhost:8080' },
      ).map(({ code }) => code),
    ];
    for (const text of shown) assert.ok(!text.toLowerCase().includes(TOKEN), text);
    const octets = encodeQuery(NAME.replace('auth', 'AuTh'));
    const places = tokenPlaces(octets);
    assert.equal(places.size, TOKEN.length);
    const hidden = [...places].map((at) => String.fromCharCode(octets[at] ?? 0)).join('');
    assert.equal(hidden, TOKEN);
  });
});

describe('snippets', () => {
  const SERVER = { dns: { host: '127.0.0.1', port: 5300 }, origin: 'http://localhost:8080' };
  const of = (name: string, type = 'TXT') =>
    snippetsOf({ name, type, dnssecOk: true, checkingDisabled: false }, SERVER);

  it('a crafted link puts no command of its own into them (finding 9 of the second security review)', () => {
    for (const name of [
      'get.x.uqrp.net;touch$IFS/tmp/x;#',
      'get.$(id).uqrp.net',
      'get.`id`.uqrp.net',
      "get.x'.uqrp.net",
      'get.x".uqrp.net',
      'get.x\\.uqrp.net',
      'get.x\nid',
      '-f/etc/passwd',
      `get.auth-${MASK}.x;id;.acme.v1.uqrp.net`,
      `get.auth-${MASK}.${MASK}.uqrp.net`,
      '',
    ])
      assert.deepEqual(of(name), [], name);
    for (const type of ['TXT;id', 'ANY -f x', '', 'toString'])
      assert.deepEqual(of('a.uqrp.net', type), [], type);
  });

  it('hold names and types that are letters, digits and their signs alone', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), fc.string({ maxLength: 5 }), (name, type) => {
        const made = of(name, type);
        if (made.length > 0) assert.match(`${name}${type}`, /^[\w.-]+$/);
      }),
    );
    assert.equal(of('get.5-km-to-mi.units.public.v1.uqrp.net').length, 7);
    const [dig] = of(maskName(NAME, null).name);
    assert.match(dig!.code, /TXT "get\.auth-\$TOKEN\.eu\.config\.acme\.v1\.uqrp\.net"$/);
    const [open] = of('_dns.resolver.uqrp.net', 'HTTPS');
    assert.match(open!.code, /HTTPS "_dns\.resolver\.uqrp\.net"$/);
  });
});

describe('parts of names', () => {
  it('have the kinds of the grammar', () => {
    const kinds = (name: string) => partsOfName(name, ZONES).map(({ kind, text }) => `${kind} ${text}`);
    assert.deepEqual(kinds('Get.auth-x.a.b.res.acme.v1.uQRP.net.'), [
      'operation Get',
      'token auth-x',
      'param a',
      'param b',
      'resource res',
      'namespace acme',
      'version v1',
      'zone uQRP.net',
    ]);
    assert.deepEqual(kinds('uqrp.net'), ['zone uqrp.net']);
    assert.deepEqual(kinds('a.uqrp.net'), ['other a', 'zone uqrp.net']);
    assert.deepEqual(kinds('a.b.example.com'), ['other a', 'other b', 'other example', 'other com']);
  });

  it('join to the name that they are of', () => {
    const name = fc
      .array(fc.stringMatching(/^[a-z0-9-]{0,9}$/), { maxLength: 8 })
      .map((all) => all.join('.'));
    fc.assert(
      fc.property(name, fc.boolean(), (below, isInZone) => {
        const whole = isInZone && below !== '' ? `${below}.uqrp.net` : below;
        const joined = partsOfName(whole, ZONES).map(({ text }) => text);
        assert.equal(joined.join('.'), whole.replace(/\.$/, ''));
      }),
      { seed: 14 },
    );
  });

  it('the state is what the server will say', () => {
    const states = {
      'get.a.acme.v1.uqrp.net': 'query',
      [`get.auth-${MASK}.a.acme.v1.uqrp.net`]: 'query',
      'acme.v1.uqrp.net': 'short',
      'get.a.acme.v1.example.com': 'outside',
      'get.-a.a.acme.v1.uqrp.net': 'E001',
      'put.a.acme.v1.uqrp.net': 'E002',
      'get.a.acme.v01.uqrp.net': 'E003',
    };
    for (const [name, state] of Object.entries(states)) assert.equal(stateOfName(name, ZONES), state, name);
  });
});

describe('asking while somebody types', () => {
  it('is for whole names alone, and never for one with a label of a token', () => {
    assert.ok(mayBeAskedWhileTyping('get.5-km-to-mi.units.public.v1.uqrp.net', ZONES));
    for (const name of [
      'get.units.public.v1.uqrp.ne',
      'units.public.v1.uqrp.net',
      NAME,
      maskName(NAME, null).name,
    ])
      assert.ok(!mayBeAskedWhileTyping(name, ZONES), name);
  });
});

describe('labels', () => {
  it('hold any text in the encodings of the services', () => {
    assert.equal(encodeParam('東京', 'b32'), 'b32-42o3dzf2vq');
    assert.equal(encodeParam('東京', 'hex'), 'hex-e69db1e4baac');
    assert.equal(encodeParam('東京', 'b64'), 'b64-5p2x5Lqs');
    assert.equal(encodeParam('New-York', 'plain'), 'new-york');
    assert.equal(encodeParam('-33d87_151d21', 'plain'), '-33d87_151d21');
    assert.equal(encodeParam('東京', 'plain'), null);
    assert.equal(encodeParam('a.b', 'plain'), null);
    assert.equal(encodeParam('', 'plain'), null);
    assert.equal(encodeParam('a'.repeat(64), 'plain'), null);
    assert.equal(encodeParam('a'.repeat(60), 'hex'), null);
  });
});

describe('questions', () => {
  it('of the experiments are names in the zone, each another one', () => {
    const names = EXPERIMENT_IDS.map((id) => questionOf(id, 'uqrp.net', () => 1).name);
    assert.equal(new Set(names).size, 10);
    for (const name of names) assert.match(name, /uqrp\.net$/i);
    assert.equal(questionOf('case', 'a.b', () => 1).name, 'GET.5-KM-TO-MI.UNITS.PUBLIC.V1.A.B');
  });

  it('of services come from their template', () => {
    const format = {
      query_template: 'get.{date}.{location}.sun.public.v1.uqrp.net',
      placeholders: { location: { type: 'string', examples: ['london'] } },
    };
    assert.deepEqual(
      placeholdersOf(format).map(({ id }) => id),
      ['date', 'location'],
    );
    assert.equal(
      filledTemplate(format, { date: '2026-01-01' }),
      'get.2026-01-01.london.sun.public.v1.uqrp.net',
    );
  });
});
