import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namespaceNameFaults } from '../../../../src/protocol/names/namespace-name.ts';
import { nameFault } from './name-rules.ts';

describe('names of namespaces in the page', () => {
  it('refuses what the server refuses, but for names that are reserved', () => {
    const names = [
      'acme',
      'a-1',
      'ab',
      'a'.repeat(32),
      'a'.repeat(33),
      '1ab',
      '-ab',
      'ab-',
      'Acme',
      'a_b',
      'auth-x',
      'ä-b-c',
      '',
      'a b',
    ];
    for (const name of names)
      assert.equal(nameFault(name, {}) === null, namespaceNameFaults(name).length === 0, name);
    assert.equal(nameFault('acme', { namespace_name_min: 5 }), 'length');
  });
});
