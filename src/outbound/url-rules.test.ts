import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../base/limits.ts';
import { isPublicAddress, parseWebhookUrl, URL_FAULTS, webhookUrlFault } from './target.ts';

/** The rules one by one are rows of test/fixtures/hostile-urls.tsv; here are lengths, and what holds of every URL. */

const BASE = 'https://hooks.example.com/';
const label = 'a'.repeat(63);
/** 253 octets with the suffix. */
const LONGEST_NAME = `${label}.${label}.${label}.${'a'.repeat(61 - '.com'.length)}.com`;

describe('rules of a URL', () => {
  it('bound its length as typed and as sent', () => {
    const max = LIMITS.webhookUrl;
    const rest = max - BASE.length;
    const table: readonly [string, string | null][] = [
      [BASE + 'x'.repeat(rest), null],
      [`${BASE}${'x'.repeat(rest)}x`, URL_FAULTS.tooLong],
      // One letter becomes six octets of %C3%BC.
      [BASE + 'ü'.repeat(Math.floor(rest / 6)), null],
      [BASE + 'ü'.repeat(Math.floor(rest / 6) + 1), URL_FAULTS.tooLong],
      [`http://${'x'.repeat(max)}`, URL_FAULTS.tooLong],
      ['x'.repeat(10_000_000), URL_FAULTS.tooLong],
    ];
    for (const [text, expected] of table) assert.equal(webhookUrlFault(text), expected, text.slice(0, 40));
  });

  it('bound the length of a name and of its labels', () => {
    const table: readonly [string, string | null][] = [
      [LONGEST_NAME, null],
      [`${LONGEST_NAME}.`, null],
      [`a${LONGEST_NAME}`, URL_FAULTS.malformed],
      [`b.${LONGEST_NAME}`, URL_FAULTS.malformed],
      [`${label}.com`, null],
      [`${label}a.com`, URL_FAULTS.malformed],
    ];
    assert.equal(LONGEST_NAME.length, 253);
    for (const [host, expected] of table) assert.equal(webhookUrlFault(`https://${host}/`), expected, host);
  });

  it('tell faults by static sentences that begin with the field', () => {
    for (const fault of Object.values(URL_FAULTS)) assert.match(fault, /^url [a-z ]+$/);
  });

  it('give a URL exactly where they find no fault', () => {
    for (const text of [BASE, 'http://hooks.example.com/', 'https://10.0.0.1/', '']) {
      assert.equal(parseWebhookUrl(text) === null, webhookUrlFault(text) !== null, text);
    }
    assert.equal(parseWebhookUrl(BASE)?.href, BASE);
  });

  it('say of what was parsed what they said of the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const url = parseWebhookUrl(text);
        if (url === null) return;
        assert.equal(webhookUrlFault(url.href), null);
        assert.equal(parseWebhookUrl(url.href)?.href, url.href);
      }),
      { numRuns: 1000 },
    );
  });

  it('admit TLS alone, without credentials or fragment, to public literals or names of two labels', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const url = parseWebhookUrl(text);
        if (url === null) return;
        const host = url.hostname.replace(/^\[|\]$/g, '');
        assert.equal(url.protocol, 'https:');
        assert.equal(url.username + url.password + url.hash, '');
        assert.ok(isIP(host) === 0 ? /[^.]\.[^.]/.test(host) : isPublicAddress(host), host);
      }),
      { numRuns: 1000 },
    );
  });

  it('refuse every spelling of an IPv4 address but one', () => {
    fc.assert(
      fc.property(
        octets,
        fc.integer({ min: 1, max: 4 }),
        fc.array(spelling, { minLength: 4 }),
        (ip, n, how) => {
          const usual = ip.join('.');
          const parts = [...ip.slice(0, n - 1), ip.slice(n - 1).reduce((sum, octet) => sum * 256 + octet, 0)];
          const typed = parts.map((part, index) => how[index]!(part)).join('.');
          assert.equal(URL.parse(`https://${typed}/`)?.hostname, usual, 'the parser takes it');
          const isAllowed = typed === usual && isPublicAddress(usual);
          assert.equal(webhookUrlFault(`https://${typed}/`), isAllowed ? null : URL_FAULTS.host, typed);
        },
      ),
    );
  });
});

const octet = fc.integer({ min: 0, max: 255 });
const octets = fc.tuple(octet, octet, octet, octet);
/** Ways to write a number that the parser of URLs takes for the same. */
const spelling = fc.constantFrom<(part: number) => string>(
  String,
  (part) => `0${part.toString(8)}`,
  (part) => `0x${part.toString(16)}`,
  (part) => `0X000${part.toString(16).toUpperCase()}`,
  (part) => String(part).replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (part) => String(part).replaceAll(/\d/g, (digit) => `%3${digit}`),
);

/** URLs that look right, and the same with something put into them. */
const scraps = [
  '@',
  ':',
  '/',
  '\\',
  '?',
  '#',
  '[',
  ']',
  '%',
  '.',
  '\t',
  '\n',
  ' ',
  '。',
  '\u00ad',
  '%2e',
  '127.0.0.1',
  'localhost',
  '::1',
  'ü',
  'Ⓐ',
  'xn--',
  '0x',
];
const web = fc.webUrl({ validSchemes: ['https', 'http'], withQueryParameters: true, withFragments: true });
const address = fc.oneof(fc.ipV4Extended(), fc.ipV4(), fc.ipV6()).map((text) => `https://${text}/`);
const bracketed = fc.ipV6().map((text) => `https://[${text}]:8443/x`);
const whole = fc.oneof(
  web,
  address,
  bracketed,
  fc.webAuthority().map((text) => `https://${text}`),
);
const cut = fc
  .tuple(whole, fc.nat(40), fc.constantFrom(...scraps))
  .map(([text, at, scrap]) => text.slice(0, at) + scrap + text.slice(at));
const anyText = fc.oneof(
  whole,
  cut,
  fc.string().map((text) => `https://${text}`),
);
