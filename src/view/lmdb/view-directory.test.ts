import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { removeView } from './view-directory.ts';

const OURS = ['1.mdb', '1.mdb-lock', '27.mdb', 'state', 'state.0123456789ab', 'sorting'];
const OTHERS = ['0.mdb', '1.mdb.bak', 'a.mdb', 'notes', 'state.txt'];

describe('a view that is removed', () => {
  let directory: string;
  let view: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'uqrp-remove-'));
    view = join(directory, 'view');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const make = (at: string, names: readonly string[]): void => {
    mkdirSync(at);
    for (const name of names) writeFileSync(join(at, name), 'x');
  };

  it('goes with its directory', () => {
    make(view, OURS);
    removeView(view);
    assert.equal(existsSync(view), false);
    // Nothing there is no error.
    removeView(view);
  });

  it('leaves what is none of its files', () => {
    make(view, [...OURS, ...OTHERS]);
    removeView(view);
    assert.deepEqual(readdirSync(view).toSorted(), OTHERS);
  });

  it('leaves a link to the directory of another disk', () => {
    make(join(directory, 'elsewhere'), OURS);
    symlinkSync(join(directory, 'elsewhere'), view);
    removeView(view);
    assert.deepEqual(readdirSync(view), []);
  });

  it('of an earlier release was a single file', () => {
    for (const name of ['view', 'view-lock', 'view-state', 'view-other'])
      writeFileSync(join(directory, name), 'x');
    removeView(view);
    assert.deepEqual(readdirSync(directory), ['view-other']);
  });
});
