import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeSelfSigned } from '../../base/certificates.ts';
import { generateKeySet, keySetData } from '../../dns/dnssec/key-set.ts';
import { checkSettings } from './pool.ts';
import type { WorkerSettings } from './settings.ts';

const NOW = Date.UTC(2026, 0, 1);
const [net, org] = ['uqrp.net', 'uqrp.org'].map((zone) => keySetData(generateKeySet(zone, NOW)));
const pair = makeSelfSigned({ hosts: [], now: NOW });
const inUse = {
  zones: ['uqrp.net', 'uqrp.org'],
  nameServers: [
    { label: 'ns1', addresses: ['192.0.2.1'] },
    { label: 'ns2', addresses: ['192.0.2.2'] },
  ],
  signing: 'full',
  keys: [net, org],
} as unknown as WorkerSettings;

describe('settings for workers, checked before they are sent', () => {
  it('pass when keys cover the same zones and the certificate fits its key', () => {
    const other = keySetData(generateKeySet('uqrp.net', NOW + 1));
    checkSettings(inUse, { keys: [other, org!] });
    checkSettings(inUse, { tls: pair });
    checkSettings(inUse, { ticketKeys: new Uint8Array(48) });
  });

  it('fail when a signed zone would lose its keys: it would be served unsigned', () => {
    const message = 'the keys of uqrp.org are missing';
    assert.throws(() => checkSettings(inUse, { keys: [net!] }), { name: 'KeyError', message });
    assert.throws(() => checkSettings(inUse, { keys: [] }), { name: 'KeyError' });
  });

  it('fail when a set is damaged', () => {
    const damaged = { ...org!, keys: org!.keys.slice(1) };
    assert.throws(() => checkSettings(inUse, { keys: [net!, damaged] }), { name: 'KeyError' });
  });

  it('fail when the certificate is damaged after its first block, or belongs to another key', () => {
    const other = makeSelfSigned({ hosts: [], now: NOW });
    const chain = `${pair.cert}-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n`;
    assert.throws(() => checkSettings(inUse, { tls: { cert: chain, key: pair.key } }));
    assert.throws(() => checkSettings(inUse, { tls: { cert: pair.cert, key: other.key } }));
  });
});
