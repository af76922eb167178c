import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { httpGet } from './http-get.ts';

describe('reading over HTTP', () => {
  let server: Server;
  let url: string;
  let sockets: Socket[];
  let asked: number;

  beforeEach(async () => {
    sockets = [];
    asked = 0;
    server = createServer((request, response) => {
      asked += 1;
      // The second question on a connection finds it closed, as after the idle time of a server.
      if (request.url === '/closing' && asked === 2) request.socket.resetAndDestroy();
      else if (request.url === '/cut')
        response.writeHead(200, { 'content-length': 10 }).write('12345', () => request.socket.destroy());
      else response.writeHead(request.url === '/moved' ? 302 : 200, { location: '/' }).end('12345');
    });
    server.on('connection', (socket) => sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('asks once more where the connection was closed between two questions', async () => {
    for (let i = 0; i < 2; i++) {
      const { status, body } = await httpGet(`${url}/closing`, 5);
      assert.deepEqual([status, body.toString()], [200, '12345']);
    }
    assert.deepEqual([asked, sockets.length], [3, 2]);
  });

  it('reads so many octets and no more', async () => {
    assert.equal((await httpGet(url, 5)).body.length, 5);
    await assert.rejects(httpGet(url, 4), /no answer from .*: more than 4 octets$/);
  });

  it('takes no part for the whole, follows no redirect, and names a server that is away', async () => {
    await assert.rejects(httpGet(`${url}/cut`, 100), /no answer from .*\/cut: ECONNRESET$/);
    assert.equal((await httpGet(`${url}/moved`, 100)).status, 302);
    await assert.rejects(httpGet('http://127.0.0.1:1/', 1), /ECONNREFUSED$/);
  });
});
