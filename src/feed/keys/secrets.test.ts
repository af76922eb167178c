import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeKeys, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { secrets as feedSecrets, reasonOf, verifier } from '../../../test/support/feed/batch/messages.ts';
import type { NodeSecrets } from '../ports/node-keys.ts';
import { openSecrets, parseSecrets, printSecrets, writeSecrets } from './secrets.ts';

const { signer } = feedSecrets;
const fra1 = nodeKeys(1);
const own = { node: 'fra1', privateKey: fra1.privateKey };

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

describe('a message with secrets', () => {
  const message = writeSecrets({ node: 'fra1', at: 5, ...of('a') }, fra1.publicKey, signer);
  const opened = (bytes: Uint8Array, as = own): string =>
    reasonOf(() => openSecrets(bytes, verifier, as, { last: 0 }));

  it('is read by its node alone, unchanged', () => {
    const { database, secrets } = openSecrets(message, verifier, own, { last: 0 });
    assert.equal(printSecrets({ database, secrets }), printSecrets(of('a')));
    assert.equal(opened(message, { node: 'ams1', privateKey: fra1.privateKey }), 'recipient');
    assert.equal(opened(message, { node: 'fra1', privateKey: nodeKeys(2).privateKey }), 'decrypt');
    const strangers = writeSecrets(
      { node: 'fra1', at: 5, ...of('a') },
      fra1.publicKey,
      signingKeys(2).signer,
    );
    assert.equal(opened(strangers), 'signer');
    for (let i = 0; i < message.length; i++) {
      const changed = Buffer.from(message);
      changed[i]! ^= 1 << (i % 8);
      assert.notEqual(opened(changed), 'read', `octet ${i}`);
    }
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
