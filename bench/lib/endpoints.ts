import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { startNameServer } from '../../test/support/name-server.ts';
import { start, stop } from '../../test/support/process.ts';

/** Addresses in the benchmark's network namespace; they look public, because webhooks reach no private address. */
export const ADDRESSES = { names: '45.90.0.53', healthy: '45.90.0.80', silent: '45.90.0.81' } as const;
const DOMAIN = 'hooks.example.com';

export interface Endpoints {
  /** Environment of a server that resolves the endpoints' names and trusts their certificate. */
  readonly env: NodeJS.ProcessEnv;
  url(n: number): string;
  /** Accepts connections and never answers. */
  readonly silentUrl: string;
  /**
   * Deliveries to the answering endpoints: id, and arrival in milliseconds since the epoch. nginx logs within a
   * second.
   */
  arrivals(): readonly { readonly id: string; readonly at: number }[];
  close(): Promise<void>;
}

/**
 * Customers' endpoints: nginx, one TLS server for every name, answers 204 and logs. One more endpoint never answers.
 */
export async function startEndpoints(): Promise<Endpoints> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-endpoints-'));
  const path = (name: string): string => join(dir, name);
  const tls = makeSelfSigned({ hosts: [`*.${DOMAIN}`], now: Date.now() });
  writeFileSync(path('cert.pem'), tls.cert);
  writeFileSync(path('key.pem'), tls.key);
  writeFileSync(path('nginx.conf'), nginxConf(dir));
  const nginx = start('nginx', ['-p', dir, '-c', path('nginx.conf'), '-e', path('error.log')]);
  const silent = createServer((socket) => socket.on('error', () => socket.destroy()).resume());
  await new Promise<void>((resolve) => silent.listen(443, ADDRESSES.silent, resolve));
  const names = await startNameServer(ADDRESSES.names, 53, (host) =>
    host.startsWith('silent') ? [ADDRESSES.silent] : [ADDRESSES.healthy],
  );
  return {
    env: { UQRP_RESOLVERS: ADDRESSES.names, NODE_EXTRA_CA_CERTS: path('cert.pem') },
    url: (n) => `https://h${n}.${DOMAIN}/in`,
    silentUrl: `https://silent.${DOMAIN}/in`,
    arrivals: () =>
      readFileSync(path('access.log'), 'latin1')
        .split('\n')
        .slice(0, -1)
        .map((line) => ({ at: Number(line.slice(0, 14)) * 1000, id: line.slice(15) })),
    async close() {
      await stop(nginx);
      silent.close();
      names.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function nginxConf(dir: string): string {
  return `daemon off; worker_processes 1; pid ${dir}/pid; user root;
    events { worker_connections 4096; }
    http {
      log_format arrival '$msec $http_x_service_delivery';
      access_log ${dir}/access.log arrival buffer=32k flush=1s;
      ${['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind === 'body' ? 'client_body' : kind}_temp_path ${dir}/${kind};`).join(' ')}
      server {
        listen ${ADDRESSES.healthy}:443 ssl backlog=1024;
        ssl_certificate ${dir}/cert.pem; ssl_certificate_key ${dir}/key.pem;
        keepalive_timeout 0;
        location / { return 204; }
      }
    }`;
}
