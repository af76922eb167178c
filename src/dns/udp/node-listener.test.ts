import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setting, until } from '../../../test/support/dns/fakes.ts';
import { udpSuite } from '../../../test/support/dns/udp/udp-suite.ts';
import { listenUdp } from './node-listener.ts';

/** Of this host, as the suite takes it: of 127.0.0.0/8 an interface tells one. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2', '::1'];

const isLinux = process.platform === 'linux';
test('an address that cannot be bound costs no descriptor', { skip: !isLinux && 'needs /proc' }, async () => {
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const unbound = Array.from({ length: 9 }, (_, i) => `192.0.2.${i + 1}`);
  const listener = await listenUdp({ ...setting(), host: '0.0.0.0' }, () => unbound);
  // Its own; others of the process come and go.
  await until(() => descriptors() <= before + 4);
  await listener.close(0);
  assert.equal(listener.address.host, '0.0.0.0');
});

udpSuite('listenUdp', (options) => listenUdp(options, () => ADDRESSES));
