import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of a REST server. */
export interface Proxy extends AsyncDisposable {
  readonly base: string;
  /** Requests that it has answered itself. */
  readonly answered: number;
  /** Answers requests itself, with a page. Those that are under way break. @param status null: requests pass again */
  answer(status: number | null): void;
}

/** @param port of the REST server */
export async function proxyTo(port: number): Promise<Proxy> {
  let own: number | null = null;
  let answered = 0;
  const proxy = createServer(({ url, method, headers }, response) => {
    if (own !== null) {
      answered++;
      response.writeHead(own, { 'content-type': 'text/html' }).end('<html>no backend</html>');
      return;
    }
    const passed = request({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    passed.end();
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    base: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    get answered() {
      return answered;
    },
    answer(status) {
      own = status;
      proxy.closeAllConnections();
    },
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
