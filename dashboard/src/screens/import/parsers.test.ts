import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkedRows, type Row } from './candidate.ts';
import { parseCsv } from './parse-csv.ts';
import { parseDotenv } from './parse-dotenv.ts';
import { parseJsonl } from './parse-jsonl.ts';

function values(rows: readonly Row[]): unknown[] {
  return rows.map(({ line, record, refusal }) => {
    const text = record === null ? refusal : Buffer.from(record.data, 'base64').toString();
    return [line, record?.key ?? null, text];
  });
}

describe('JSON lines', () => {
  it('reads the form of an export', () => {
    const record = {
      key: 'a.acme.v1',
      data: 'aGk=',
      content_type: 'text/plain',
      ttl_seconds: 60,
      expires_at: null,
    };
    const [row] = parseJsonl(`${JSON.stringify(record)}\r\n\n`);
    assert.deepEqual(row, { line: 1, record, refusal: null });
  });

  it('says what is wrong with each line', () => {
    const lines = [
      '{',
      '[]',
      '{"data":""}',
      '{"key":"a.b.v1"}',
      '{"key":"a.b.v1","data":"","colour":1}',
      '{"key":"a.b.v1","data":"","ttl_seconds":"60"}',
      'x'.repeat(9000),
    ];
    const reasons = parseJsonl(lines.join('\n')).map(({ refusal }) => refusal);
    assert.deepEqual(reasons, [
      'syntax',
      'not_object',
      'no_key',
      'no_data',
      'unknown_field',
      'field_type',
      'line_long',
    ]);
  });
});

describe('CSV', () => {
  it('reads quoted cells, with line ends and marks in them', () => {
    const text = '\uFEFFkey,value,ttl_seconds\r\na.acme.v1,"one, ""two""\nthree",60\r\nb.acme.v1,,\r\n';
    assert.deepEqual(values(parseCsv(text)), [
      [2, 'a.acme.v1', 'one, "two"\nthree'],
      [4, 'b.acme.v1', ''],
    ]);
    assert.equal(parseCsv(text)[0]?.record?.ttl_seconds, 60);
    assert.equal(parseCsv(text)[0]?.record?.content_type, 'text/plain');
  });

  it('takes Base64 as data, and semicolons or tabs between cells', () => {
    assert.deepEqual(values(parseCsv('key;data\na.acme.v1;aGk=')), [[2, 'a.acme.v1', 'hi']]);
    assert.deepEqual(values(parseCsv('data\tkey\naGk=\ta.acme.v1\n')), [[2, 'a.acme.v1', 'hi']]);
  });

  it('refuses other columns, rows of another length, and an open quotation mark', () => {
    for (const head of ['key', 'value', 'key,data,text', 'key,key,data', 'key,data,colour']) {
      assert.deepEqual(values(parseCsv(`${head}\nx`)), [[1, null, 'columns']], head);
    }
    assert.deepEqual(values(parseCsv('key,text\na.acme.v1\nb.acme.v1,x,y')), [
      [2, null, 'columns'],
      [3, null, 'columns'],
    ]);
    assert.deepEqual(values(parseCsv('key,text\na.acme.v1,"x')), [[2, null, 'syntax']]);
    assert.deepEqual(values(parseCsv('key,text,ttl_seconds\na.acme.v1,x,6e1')), [[2, null, 'field_type']]);
    assert.deepEqual(parseCsv(''), []);
  });
});

describe('.env', () => {
  it('makes a record of each variable', () => {
    const text = [
      '# comment',
      'DATABASE_URL=postgres://x?a=b#c   # where',
      'export QUOTED="a \\"b\\" \\n$c" # tail',
      "SINGLE='as \\n is'",
      'EMPTY=',
      'LINES="one',
      'two"',
      'AFTER=1',
    ].join('\n');
    assert.deepEqual(values(parseDotenv(text, 'env.acme.v1')), [
      [2, 'database-url.env.acme.v1', 'postgres://x?a=b#c'],
      [3, 'quoted.env.acme.v1', 'a "b" \n$c'],
      [4, 'single.env.acme.v1', 'as \\n is'],
      [5, 'empty.env.acme.v1', ''],
      [6, 'lines.env.acme.v1', 'one\ntwo'],
      [8, 'after.env.acme.v1', '1'],
    ]);
  });

  it('refuses lines that are no assignment, and quotation marks without an end', () => {
    assert.deepEqual(values(parseDotenv('what\nA="x\nB=1', 'env.acme.v1')), [
      [1, null, 'syntax'],
      [2, null, 'syntax'],
      [3, 'b.env.acme.v1', '1'],
    ]);
    assert.deepEqual(values(parseDotenv('A="x" y', 'env.acme.v1')), [[1, null, 'syntax']]);
  });

  it('two names that become one label are one key', () => {
    const context = {
      limits: { key: 178, data: 2586, contentType: 127, ttl: 10 },
      namespaces: new Set(['acme']),
      now: 0,
    };
    const rows = checkedRows(parseDotenv('A_B=1\nA__B=2', 'env.acme.v1'), context);
    assert.deepEqual(
      rows.map(({ refusal }) => refusal),
      [null, 'twice'],
    );
  });
});
