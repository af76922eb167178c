import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { countValues, variablesOf } from './values.ts';

const record = (key: string, data: string | Buffer = 'secret-value') => ({ key, data: Buffer.from(data) });
const nothing: ReadonlySet<string> = new Set();
const named = (...keys: readonly string[]) => [
  ...variablesOf(
    keys.map((key) => record(key)),
    nothing,
  ).keys(),
];
const faultOf = (keys: readonly string[], allowed = nothing): string => {
  try {
    variablesOf(
      keys.map((key) => record(key)),
      allowed,
    );
  } catch (error) {
    assert.ok(error instanceof InputError);
    assert.doesNotMatch(error.message, /secret/, 'no fault shows a value');
    return error.message;
  }
  return '';
};

describe('records as variables', () => {
  it('have names of the params: upper case, with _ for hyphens and dots', () => {
    assert.deepEqual(named('database-url.env.shop.v1', 'a.b-c.d.env.shop.v2', 'x1.y.z.v1'), [
      'DATABASE_URL',
      'A_B_C_D',
      'X1',
    ]);
    const values = variablesOf([record('motto.env.shop.v1', 'grüße\n"$(x)" ')], nothing);
    assert.deepEqual([...values], [['MOTTO', 'grüße\n"$(x)" ']]);
    assert.equal(variablesOf([record('empty.env.shop.v1', '')], nothing).get('EMPTY'), '');
  });

  it('of two keys with one name name both', () => {
    assert.equal(
      faultOf(['db-url.env.shop.v1', 'other.env.shop.v1', 'db.url.env.shop.v1']),
      'db.url.env.shop.v1: it would be DB_URL, as db-url.env.shop.v1 is',
    );
    assert.match(faultOf(['a.env.shop.v1', 'a.other.shop.v1']), /as a\.env\.shop\.v1 is/);
  });

  it('must have a name that begins with a letter, and a text without an octet 0', () => {
    assert.equal(
      faultOf(['2fa.env.shop.v1']),
      '2fa.env.shop.v1: it would be 2FA, and no variable begins with a digit',
    );
    assert.match(faultOf(['greeting.shop.v1']), /^greeting\.shop\.v1: its key has nothing before/);
    for (const [data, fault] of [
      [Buffer.from([0x61, 0]), /octet 0$/],
      [Buffer.from([0xff]), /is no text$/],
      [
        Buffer.concat([Buffer.of(2), Buffer.alloc(60, 0xff)]),
        /seems encrypted or signed: give --key or --signed-by$/,
      ],
      [
        Buffer.concat([Buffer.of(3), Buffer.alloc(80)]),
        /seems encrypted or signed: give --key or --signed-by$/,
      ],
    ] as const) {
      assert.throws(() => variablesOf([record('a.env.shop.v1', data)], nothing), fault);
    }
  });

  it('do not decide what programs load, unless that is allowed by name', () => {
    for (const name of [
      'path',
      'ld-preload',
      'ld.library-path',
      'node-options',
      'bash-env',
      'dyld-insert-libraries',
      'uqrp-token',
    ]) {
      const variable = name.replaceAll(/[.-]/g, '_').toUpperCase();
      assert.equal(
        faultOf([`${name}.env.shop.v1`]),
        `${name}.env.shop.v1: it would be ${variable}, which decides what programs load. To allow it: --allow ${variable}`,
      );
      assert.equal(faultOf([`${name}.env.shop.v1`], new Set([variable])), '');
    }
    assert.match(faultOf(['path.env.shop.v1'], new Set(['LD_PRELOAD'])), /PATH/);
    assert.deepEqual(
      named('paths.env.shop.v1', 'my-path.env.shop.v1', 'ld.env.shop.v1', 'node.env.shop.v1'),
      ['PATHS', 'MY_PATH', 'LD', 'NODE'],
    );
  });

  it('tell all their faults at once, and of many the first 20', () => {
    assert.equal(faultOf(['1.env.shop.v1', '2.env.shop.v1']).split('\n').length, 2);
    const many = Array.from({ length: 30 }, (_, n) => `${n}.env.shop.v1`);
    const lines = faultOf(many).split('\n');
    assert.deepEqual([lines.length, lines.at(-1)], [21, 'and 10 more']);
  });

  it('have no more octets than the limit', () => {
    const key = 'a.env.shop.v1';
    countValues([record(key, Buffer.alloc(LIMITS.runOctets - key.length))]);
    assert.throws(
      () => countValues([record(key, Buffer.alloc(LIMITS.runOctets - key.length + 1))]),
      /more than 1048576 octets/,
    );
  });
});
