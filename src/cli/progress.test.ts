import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { progressOn, type Terminal } from './actions/datasets.ts';

class Screen implements Terminal {
  readonly isTTY: boolean;
  readonly columns: number;
  readonly written: string[] = [];

  constructor(isTTY: boolean, columns = 80) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.written.push(text);
  }
}

const ERASE = '\r\u001b[2K';

describe('progress', () => {
  it('is one line that is replaced, at most ten times a second, and removed at the end', () => {
    const screen = new Screen(true);
    let now = 0;
    const progress = progressOn(screen, '/data/items.jsonl', () => now);
    progress.show(0, 100);
    progress.clear();
    assert.deepEqual(screen.written, [], 'short work shows nothing');
    now = 100;
    progress.show(50, 100);
    progress.show(60, 100);
    now = 200;
    progress.show(100, 100);
    progress.clear();
    progress.clear();
    assert.deepEqual(screen.written, [
      `${ERASE}[############............]  50 %  items.jsonl`,
      `${ERASE}[########################] 100 %  items.jsonl`,
      ERASE,
    ]);
  });

  it('writes nothing to a pipe', () => {
    const pipe = new Screen(false);
    let now = 0;
    const progress = progressOn(pipe, 'items.jsonl', () => now);
    now = 1000;
    progress.show(1, 2);
    progress.clear();
    assert.deepEqual(pipe.written, []);
  });

  it('stays in one row, and shows control characters of a name as text', () => {
    const screen = new Screen(true, 44);
    let now = 0;
    const progress = progressOn(screen, 'a\u001bb'.padEnd(60, 'x'), () => now);
    now = 100;
    progress.show(1, 0);
    const [line] = screen.written;
    assert.equal(line!.length, ERASE.length + 43);
    assert.ok(line!.includes('a\\u{1b}b'));
  });
});
