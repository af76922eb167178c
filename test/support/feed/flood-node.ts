/**
 * A stolen node: publishes as fast as it can, up to a limit, with the credentials of one, until it is killed. A process of its own, so that it does not slow those
 * who measure. Usage: node test/support/feed/flood-node.ts CREDENTIALS SUBJECT REPLY OCTETS
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseCredentials } from '../../../src/feed/ports/credentials.ts';
import { rawConnection } from './broker-folder.ts';

const [file, subject, reply, octets] = process.argv.slice(2) as [string, string, string, string];
const connection = await rawConnection(parseCredentials(readFileSync(file, 'utf8')));
const payload = octets === 'get' ? '{"seq":1}' : Buffer.alloc(Number(octets), 'x');
const options = reply === '' ? {} : { reply };
process.stdout.write('floods\n');
/** Messages a second at most: without it the attack is as strong as the machine, and what it costs the others as well. */
const RATE = 50_000;
const began = performance.now();
let sent = 0;
process.once('SIGTERM', () => {
  process.stdout.write(`${sent}\n`, () => process.exit(0));
});
// A large message is many packets: fewer go between two answers of the broker.
const batch = typeof payload === 'string' || payload.length < 4_096 ? 200 : 8;
for (;;) {
  for (let i = 0; i < batch; i++) connection.publish(subject, payload, options);
  sent += batch;
  await connection.flush();
  await sleep(Math.max(0, (sent / RATE) * 1_000 - (performance.now() - began)));
}
