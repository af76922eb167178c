import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { Faults, isText } from './fields.ts';
import {
  BOOLEAN,
  enveloped,
  FUTURE_TIME_OR_NULL,
  integerOf,
  listOf,
  nameOf,
  nested,
  optional,
  required,
  shape,
  textOf,
} from './shape.ts';

const SCOPES = shape('Scopes', { names: optional(listOf(2, isText, 'strings', { type: 'string' })) });
const KEY = shape('Key', {
  name: required(nameOf(5, 'ci')),
  size: optional(integerOf(1, 3)),
  scopes: optional(nested(SCOPES)),
  ends: optional(FUTURE_TIME_OR_NULL),
});

const NOW = { now: Date.UTC(2026, 0, 1) };

function faultsOf(body: object): readonly string[] {
  try {
    KEY.parse(body as Record<string, unknown>, NOW);
  } catch (error) {
    assert.ok(error instanceof AppError);
    return error.messages;
  }
  return [];
}

describe('a shape', () => {
  it('reads a body, with undefined for what is absent', () => {
    assert.deepEqual(KEY.parse({ name: 'ci', scopes: { names: ['a', 'a'] }, ends: null }, NOW), {
      name: 'ci',
      size: undefined,
      scopes: { names: ['a'] },
      ends: null,
    });
  });

  it('finds every fault at once: unknown fields first, then in its own order, nested ones by their path', () => {
    assert.deepEqual(faultsOf({ ends: '2025-01-01', colour: 1, scopes: { names: [1], x: 1 }, size: '2' }), [
      'colour is not a known field',
      'name is required',
      'size must be an integer',
      'scopes.x is not a known field',
      'scopes.names must have only strings',
      'ends must be in the future',
    ]);
  });

  it('prints its JSON Schema', () => {
    const { properties, ...rest } = KEY.schema;
    assert.deepEqual(rest, { title: 'Key', type: 'object', required: ['name'], additionalProperties: false });
    assert.deepEqual(Object.keys(properties), ['name', 'size', 'scopes', 'ends']);
    assert.deepEqual(properties.size, { type: 'integer', minimum: 1, maximum: 3 });
    assert.equal(properties.scopes, SCOPES.schema);
    assert.deepEqual(enveloped('key', KEY.schema).required, ['key']);
  });

  it('of a PATCH refuses an empty object', () => {
    const patch = shape(
      'Patch',
      { on: optional(BOOLEAN), note: optional(textOf()) },
      { atLeastOneOf: 'thing' },
    );
    const faults = new Faults();
    assert.equal(patch.readWhole({}, undefined, faults), null);
    assert.deepEqual(faults.messages, ['thing must have one of on, note']);
    assert.equal(patch.schema.minProperties, 1);
  });

  it('notices a fault whose message is above the bound of the list', () => {
    const faults = new Faults();
    for (let i = 0; i < 2000; i++) faults.add('x');
    assert.equal(KEY.readWhole({}, NOW, faults), null);
  });
});
