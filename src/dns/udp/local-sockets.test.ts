import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { isEveryAddress } from '../../base/network/address.ts';
import { keepLocalSockets, localAddresses } from './local-sockets.ts';

describe('the sockets of each address', () => {
  test('follow the addresses of the host; one that cannot be bound is tried again', async () => {
    let present = ['127.0.0.1', '127.0.0.2'];
    const refused = new Set(['127.0.0.2']);
    const open = new Map<string, Socket>();
    const timers = createManualTimers();
    const stop = await keepLocalSockets({
      addresses: () => present,
      timers,
      async open(address) {
        if (refused.has(address)) throw new Error('EADDRNOTAVAIL');
        const socket = createSocket('udp4').bind(0, address);
        await once(socket, 'listening');
        socket.once('close', () => open.delete(address));
        open.set(address, socket);
        return socket;
      },
    });
    assert.deepEqual([...open.keys()], ['127.0.0.1']);
    refused.clear();
    present = ['127.0.0.2', '127.0.0.3'];
    await timers.advance(9_999);
    assert.deepEqual([...open.keys()], ['127.0.0.1']);
    await timers.advance(1);
    while (!open.has('127.0.0.3') || open.has('127.0.0.1')) await new Promise(setImmediate);
    assert.deepEqual([...open.keys()], ['127.0.0.2', '127.0.0.3']);
    await stop();
    assert.deepEqual([...open.keys()], []);
  });

  test('are those of the families that the host stands for, and not of one address', () => {
    assert.deepEqual(['0.0.0.0', '::', '127.0.0.1', '::1', '192.0.2.1'].map(isEveryAddress), [
      true,
      true,
      false,
      false,
      false,
    ]);
    const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    const ipv4 = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
    assert.deepEqual(localAddresses('0.0.0.0'), ipv4);
    const both = localAddresses('::');
    assert.ok(ipv4.every((address) => both.includes(address)));
    assert.ok(both.every((address) => !address.startsWith('fe80')));
  });
});
