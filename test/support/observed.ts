/** What a running server lets out of itself while a test changes something: log lines, readiness, metrics. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Uqrp } from './server-process.ts';

export interface Observed {
  /** How often an event was logged since the observation began. */
  count(event: string): number;
  /** Fails if the server was unready in the meantime, or if a log line or the metrics hold one of the texts. */
  check(secrets: readonly string[]): Promise<void>;
  end(): void;
}

const READINESS_MS = 50;

export function observe(server: Uqrp): Observed {
  let printed = '';
  for (const stream of [server.child.stdout, server.child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  const url = `http://127.0.0.1:${server.ports.http}`;
  const unready: string[] = [];
  let asked = 0;
  async function ask(): Promise<void> {
    const reply = await fetch(`${url}/readyz`);
    asked++;
    if (reply.status !== 200) unready.push(await reply.text());
  }
  // A server that was told to stop answers no more.
  const timer = setInterval(() => void ask().catch(() => {}), READINESS_MS);
  return {
    count: (event) => printed.split(`"event":"${event}"`).length - 1,
    async check(secrets) {
      assert.ok(asked > 0, 'readiness was asked for');
      assert.deepEqual(unready, []);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, /uqrp_dns_replies_total/);
      for (const secret of secrets) {
        assert.ok(!printed.includes(secret), 'a line holds something private');
        assert.ok(!metrics.includes(secret), 'a metric holds something private');
      }
    },
    end: () => clearInterval(timer),
  };
}

/** Sockets of this machine that accept TCP connections at a port: one a worker. */
export function listeners(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((path) => readFileSync(path, 'latin1').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) === true && state === '0A').length;
}
