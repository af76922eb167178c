import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dohUrl, listenOn } from './settings.ts';

/** What is said of a port that cannot be opened. */
const SAID = [
  ['udp', 'UQRP_DNS_PORT 53/udp cannot be opened: EACCES'],
  ['tcp', 'UQRP_DNS_PORT 53/tcp cannot be opened: EACCES'],
  ['dot', 'UQRP_DOT_PORT 53/tcp cannot be opened: EACCES'],
  ['doh', 'UQRP_DOH_PORT 53/tcp cannot be opened: EACCES'],
] as const;
for (const [transport, message] of SAID)
  test(`a port that cannot be opened for ${transport} is named with its variable and its protocol`, async () => {
    const open = async () => {
      throw Object.assign(new Error('of the system'), { code: 'EACCES' });
    };
    await assert.rejects(listenOn({ transport, port: 53 }, open), { name: 'ListenError', message });
  });

test('the URL of DoH has a name for all addresses, and brackets for IPv6', () => {
  assert.deepEqual(
    ['0.0.0.0', '::', '::1', '192.0.2.1', 'ns.example.net'].map((host) => dohUrl(host, 8443)),
    [
      'https://localhost:8443',
      'https://localhost:8443',
      'https://[::1]:8443',
      'https://192.0.2.1:8443',
      'https://ns.example.net:8443',
    ],
  );
});
