import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVersions, type Versions } from './versions.ts';

const KEY = 'k.doc.acme.v1';

function kept(versions = 10): Versions {
  const made = createVersions();
  made.keep(versions);
  return made;
}

const put = (of: Versions, data: string | null, key = KEY) => of.write(new Map([[key, data]]));

describe('the model of versions', () => {
  it('numbers the writes of a key, over its deletion, and from the beginning where nothing is kept', () => {
    const of = kept();
    for (const data of ['one', 'two', null, 'three']) put(of, data);
    assert.deepEqual(of.list(KEY), [
      [3, null],
      [2, 'delete'],
      [1, 'write'],
    ]);
    assert.deepEqual(
      [1, 2, 3, 4].map((number) => of.data(KEY, number)),
      ['one', 'two', 'three', null],
    );
    assert.equal(of.count(), 2);
    of.keep(null);
    put(of, null);
    put(of, 'four');
    assert.equal(of.present(KEY)?.number, 1);
  });

  it('drops what is over the number of versions, and what is erased', () => {
    const of = kept(2);
    for (const data of ['one', 'two', 'three', 'four']) put(of, data);
    assert.deepEqual(of.list(KEY), [
      [4, null],
      [3, 'write'],
      [2, 'write'],
    ]);
    of.eraseVersions(KEY);
    assert.deepEqual(of.list(KEY), [[4, null]]);
    put(of, 'five');
    of.erase(KEY);
    assert.deepEqual(of.list(KEY), []);
    put(of, 'six');
    assert.equal(of.present(KEY)?.number, 1);
  });

  it('undoes a write as a whole, also an undo, and nothing that was changed since or is not kept', () => {
    const of = kept();
    put(of, 'one');
    const many = of.write(
      new Map([
        [KEY, null],
        ['l.doc.acme.v1', 'two'],
      ]),
    );
    const { how, write } = of.undo(many);
    assert.equal(how, 'done');
    assert.equal(of.present(KEY)?.data, 'one');
    assert.equal(of.present('l.doc.acme.v1'), null);
    assert.equal(of.undo(many).how, 'changed');
    assert.equal(of.undo(write!).how, 'done');
    assert.equal(of.present(KEY), null);
    of.eraseVersions(KEY);
    assert.equal(of.undo(many).how, 'missing');
  });
});
