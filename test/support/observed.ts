/** Observes log lines, readiness and metrics of a running server during a test. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Uqrp } from './server-process.ts';

export interface Observed {
  /** Number of log lines with this event since the observation began. */
  count(event: string): number;
  /** Fails if the server was unready at any time, or if a log line or the metrics contain one of the texts. */
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
  // A stopping server does not answer.
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

/** Number of listening TCP sockets of this machine at a port: one per worker. */
export function listeners(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((path) => readFileSync(path, 'latin1').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) === true && state === '0A').length;
}
