import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeSecrets } from '../ports/node-keys.ts';
import { parseSecrets, printSecrets } from './secrets.ts';

function of(mark: string) {
  return { database: 'one', secrets: secretsOf(mark) };
}

function secretsOf(mark: string, from = 0): NodeSecrets {
  return {
    zones: [{ zone: 'uqrp.net', mark, from, document: JSON.stringify({ zone: 'uqrp.net', mark }) }],
    cookies: [{ period: 7, secret: Buffer.alloc(16, 1) }],
    tickets: [{ period: 9, secret: Buffer.alloc(48, 2) }],
  };
}

describe('the secrets of a node', () => {
  it('are printed and read unchanged', () => {
    assert.equal(printSecrets(parseSecrets(printSecrets(of('a')))!), printSecrets(of('a')));
  });

  it('with anything but secrets of this version in it is refused', () => {
    const good = JSON.parse(printSecrets(of('a'))) as Record<string, unknown>;
    const faults: unknown[] = [
      null,
      { ...good, v: 2 },
      { ...good, database: undefined },
      { ...good, zones: [{}] },
      { ...good, zones: 'none' },
      { ...good, cookies: [{ period: 1, secret: 'AA==' }] },
      { ...good, tickets: [null] },
      { ...good, tickets: undefined },
    ];
    for (const fault of faults) assert.equal(parseSecrets(JSON.stringify(fault)), null);
    assert.equal(parseSecrets('{'), null);
  });
});
