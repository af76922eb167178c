import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readEnvelope } from '../../../sdk/src/dns.ts';
import { valueWords } from './value-words.ts';

const DOCS = new URL('../../../docs/services/', import.meta.url);
const ANSWERS = readdirSync(DOCS)
  .flatMap((name) => readFileSync(new URL(name, DOCS), 'utf8').split('\n'))
  .filter((line) => line.startsWith('v=svc1;s=ok;t=data;'));

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
    ] as const) {
      assert.deepEqual(wordsOf(fields), words, fields);
    }
  });

  it('is none for fields of another form', () => {
    assert.equal(wordsOf('greeting=hello'), null);
    assert.equal(valueWords(new Map()), null);
  });
});
