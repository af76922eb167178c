/**
 * A million records of 300 bytes in a whole server: write rate, time from restart to ready, and resident memory at
 * ready and after one query per record.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requirePrograms, residentMegabytes } from '../test/support/process.ts';
import { account, startUqrp, writeRecords } from '../test/support/server-process.ts';
import { print, row } from './lib/figures.ts';

const RECORDS = Number(process.argv[2] ?? 1_000_000);
requirePrograms({ dnsperf: 'dnsperf' });

let server = await startUqrp();
const customer = account(server);
await customer.call('POST', '/namespaces', { namespace: { name: 'million' } });
server.cli(['namespace', 'public-read', 'million', 'on']);

function* records(): Generator<{ key: string; data: string; content_type: string }> {
  for (let i = 0; i < RECORDS; i++) {
    const data = Buffer.alloc(300, `${i} `).toString('base64');
    yield { key: `r${i}.million.v1`, data, content_type: 'text/plain' };
  }
}

try {
  const writing = performance.now();
  await writeRecords(customer, records());
  const seconds = (performance.now() - writing) / 1000;
  print(
    `${RECORDS} records written in bulk in ${seconds.toFixed(1)} s, ${Math.round(RECORDS / seconds)} a second`,
  );
  report('after writing');
  await server.stop();

  const starting = performance.now();
  server = await startUqrp({}, server.dataDir);
  print(`restart to ready: ${((performance.now() - starting) / 1000).toFixed(2)} s (limit 5)`);
  report('at ready (limit 400)');

  const file = join(server.dataDir, 'names.txt');
  const lines = Array.from(
    { length: RECORDS },
    (_, i) => `get.r${(i * 7919) % RECORDS}.million.v1.uqrp.net TXT\n`,
  );
  writeFileSync(file, lines.join(''));
  const args = [
    '-s',
    '127.0.0.1',
    '-p',
    String(server.ports.dns),
    '-d',
    file,
    '-n',
    '1',
    '-c',
    '8',
    '-q',
    '200',
    '-e',
  ];
  const text = execFileSync('dnsperf', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  print(`${/Queries per second:\s+([\d.]+)/.exec(text)?.[1]} questions a second, each name once`);
  report('after all were asked');
} finally {
  await server.remove();
}

function report(when: string): void {
  const { anon, file, all } = residentMegabytes(server.pid);
  print(row([when, `${Math.round(all)} MB`, `${Math.round(anon)} own`, `${Math.round(file)} file`]));
}
