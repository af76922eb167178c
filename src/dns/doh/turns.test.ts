import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { get, tls, withDoh } from '../../../test/support/dns/doh/doh-clients.ts';
import { LIMITS } from '../../base/limits.ts';
import { MISSES_A_TURN } from '../shared/handler.ts';

const CONNECTIONS = 6;

/** The most queries that were asked in one turn of the event loop, until there are so many. */
async function mostInATurn(asked: readonly string[], count: number): Promise<number> {
  let most = 0;
  for (let before = asked.length; before < count; before = asked.length) {
    await turn();
    most = Math.max(most, asked.length - before);
  }
  return most;
}

test('a hundred HTTP/2 streams of fresh names are asked in several turns of the event loop', async () => {
  await withDoh({}, async ({ options, clients }) => {
    await clients.h2({ path: get('hot') });
    const { asked } = options.handler;
    const answers = Array.from({ length: LIMITS.dohStreams }, () => clients.h2({ path: get('fresh') }));
    const most = await mostInATurn(asked, 1 + LIMITS.dohStreams);
    assert.ok(most <= MISSES_A_TURN, `${most} in one turn`);
    assert.ok((await Promise.all(answers)).every(({ status }) => status === 200));
  });
});

test('pipelines of fresh names over HTTP/1.1 are asked in several turns of the event loop, and answered', async () => {
  await withDoh({}, async ({ options, listener }) => {
    const sockets: TLSSocket[] = [];
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = tlsConnect({ host: '127.0.0.1', port: listener.address.port, ca: tls.cert });
      await once(socket, 'secureConnect');
      sockets.push(socket);
    }
    let text = '';
    const request = `GET ${get('fresh')} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    for (const socket of sockets) {
      socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      socket.write(request.repeat(LIMITS.httpPipeline));
    }
    const count = CONNECTIONS * LIMITS.httpPipeline;
    const most = await mostInATurn(options.handler.asked, count);
    assert.ok(most <= MISSES_A_TURN, `${most} in one turn`);
    while (text.split('HTTP/1.1 200').length <= count) await turn();
    for (const socket of sockets) socket.destroy();
  });
});
