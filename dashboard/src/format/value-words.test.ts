import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readEnvelope } from '../../../sdk/src/dns.ts';
import { valueWords } from './value-words.ts';

const DOCS = new URL('../../../docs/services/', import.meta.url);
const ANSWERS = readdirSync(DOCS)
  .flatMap((name) => readFileSync(new URL(name, DOCS), 'utf8').split('\n'))
  .filter((line) => line.startsWith('v=svc1;s=ok;t=data;'));

const ALL = '340,282,366,920,938,463,463,374,607,431,768,211,456';

function wordsOf(text: string): readonly [string, string] | null {
  const words = valueWords(readEnvelope(`v=svc1;s=ok;t=data;${text}`).fields);
  return words && [words.headline, words.detail];
}

describe('the value of a service in words', () => {
  it('is there for the documented answer of every service, with nothing left to fill in', () => {
    assert.ok(ANSWERS.length >= 20);
    for (const answer of ANSWERS) {
      const words = valueWords(readEnvelope(answer).fields);
      assert.ok(words !== null && words.headline !== '', answer);
      assert.doesNotMatch(`${words.headline} ${words.detail}`, /[{}]|undefined|NaN|^·|· ·/, answer);
    }
  });

  it('has units, local times and names of states', () => {
    for (const [fields, words] of [
      ['val=5;from=km;to=mi;res=3.10685596119;cat=length', ['3.10685596119 mi', '5 km']],
      ['val=-40;from=c;to=f;res=-40;cat=temperature', ['-40 °F', '-40 °C']],
      [
        'loc=Tokyo, JP;zone=Asia/Tokyo;iso=2026-11-26T14:28:38+09:00;day=thursday;off=32400',
        ['14:28', 'Thursday · Tokyo, JP · Asia/Tokyo'],
      ],
      ['zone=UTC;iso=2026-11-26T05:28:38Z;day=thursday;off=0', ['05:28', 'Thursday · UTC']],
      [
        'date=2026-11-26;phase=waning-gibbous;illum=94.7;age=17.21',
        ['Waning gibbous', '94.7% lit · 2026-11-26'],
      ],
      [
        'loc=Tromsø, NO;date=2026-12-21;noon=2026-12-21T10:41:40Z;len=0;state=polarnight',
        ['The sun stays down', 'Tromsø, NO · 2026-12-21 · UTC'],
      ],
      ['ip=10.0.0.1;country=Utopia', ['Utopia', '10.0.0.1']],
      [
        'net=10.0.0.0/8;first=10.0.0.0;last=10.255.255.255;n=16777216',
        ['16,777,216 addresses', '10.0.0.0/8 · 10.0.0.0 to 10.255.255.255'],
      ],
      [
        'net=::/0;first=::;last=f::;n=340282366920938463463374607431768211456',
        [`${ALL} addresses`, '::/0 · :: to f::'],
      ],
      ['net=::1/128;first=::1;last=::1;n=1', ['one address', '::1/128 · ::1 to ::1']],
      ['val=12345.6789;from=km;to=m;res=12345678.9;cat=length', ['12,345,678.9 m', '12,345.6789 km']],
      ['val=11111;from=2;to=10;res=31', ['31', '11111 · base 2 → base 10']],
      ['flips=heads;heads=1;tails=0', ['heads', '']],
      ['flips=heads tails tails;heads=1;tails=2', ['heads tails tails', '1 × heads · 2 × tails']],
      ['dice=1d20;rolls=9;sum=9', ['9', '1d20']],
      ['dice=2d6+1;rolls=3 5;sum=9', ['9', '2d6+1 · rolled 3 + 5']],
    ] as const) {
      assert.deepEqual(wordsOf(fields), words, fields);
    }
  });

  it('is none for fields of another form', () => {
    assert.equal(wordsOf('greeting=hello'), null);
    assert.equal(valueWords(new Map()), null);
  });
});
