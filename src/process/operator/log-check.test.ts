import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LogFacts, logFindings } from './log-check.ts';

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const WELL: LogFacts = {
  isOn: true,
  head: { origin: 'a.example/log', size: 7 },
  keyOrigin: 'a.example/log',
  published: 7,
  publishedAt: NOW - 7 * HOUR,
  witnesses: [
    { name: 'w1', state: 'cosigned' },
    { name: 'w2', state: 'cosigned' },
  ],
};

const said = (more: Partial<LogFacts>): string =>
  logFindings({ ...WELL, ...more }, NOW)
    .map(({ state, text }) => `${state}: ${text}`)
    .join();

describe('what doctor says of the transparency log', () => {
  it('is nothing where there is none and none is wanted, and what to do where it has not begun', () => {
    assert.equal(said({ isOn: false, head: null }), '');
    assert.match(said({ head: null }), /^wrong: .*uqrp log init/);
  });

  it('is wrong while it is off, keyless, behind, forked or old', () => {
    assert.match(said({ isOn: false, witnesses: [] }), /^wrong: UQRP_DATASETS_LOG is off/);
    for (const keyOrigin of [null, 'b.example/log'])
      assert.match(said({ keyOrigin }), /^wrong: its key is missing/);
    const witness = (state: LogFacts['witnesses'][0]['state']) => [WELL.witnesses[0]!, { name: 'w2', state }];
    assert.match(said({ witnesses: witness('ahead') }), /^wrong: .*uqrp log recover$/);
    assert.match(said({ witnesses: witness('other_root') }), /^wrong: .*another tree/);
    assert.match(
      said({ publishedAt: NOW - 8 * HOUR, witnesses: witness('away') }),
      /^wrong: no quorum .* 8 hours; does not cosign: w2\./,
    );
  });

  it('tells how many entries wait, and who does not cosign', () => {
    assert.equal(said({}), 'ok: 7 entries, 7 published');
    assert.equal(said({ published: 5 }), 'note: 7 entries, 5 published');
    assert.equal(said({ published: 0, publishedAt: null }), 'note: 7 entries, 0 published');
    assert.equal(
      said({ witnesses: [{ name: 'w2', state: 'refused' }] }),
      'note: 7 entries, 7 published; does not cosign: w2',
    );
  });
});
