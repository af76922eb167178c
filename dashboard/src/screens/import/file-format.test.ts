import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatOfFile, parseFile } from './file-format.ts';

describe('the format of a file', () => {
  it('is known by its name', () => {
    assert.equal(formatOfFile('acme.jsonl', ''), 'jsonl');
    assert.equal(formatOfFile('a.NDJSON', ''), 'jsonl');
    assert.equal(formatOfFile('a.tsv', ''), 'csv');
    for (const name of ['.env', 'prod.env', '.env.local']) assert.equal(formatOfFile(name, ''), 'env', name);
  });

  it('else by its first letters', () => {
    assert.equal(formatOfFile('dump.txt', ' {"key": 1}'), 'jsonl');
    assert.equal(formatOfFile('dump.txt', 'key,value\na,b=c'), 'csv');
    assert.equal(formatOfFile('dump.txt', '# x\nexport A=1'), 'env');
  });

  it('decides how it is read', () => {
    const keyOf = (format: 'jsonl' | 'csv' | 'env', text: string) =>
      parseFile(format, text, 'env.acme.v1')[0]?.record?.key;
    assert.equal(keyOf('jsonl', '{"key":"a.acme.v1","data":""}'), 'a.acme.v1');
    assert.equal(keyOf('csv', 'key,text\na.acme.v1,x'), 'a.acme.v1');
    assert.equal(keyOf('env', 'A=1'), 'a.env.acme.v1');
  });
});
