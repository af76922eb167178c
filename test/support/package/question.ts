/** An installed uqrp that runs: asked over DNS and HTTP, written to, and stopped. Each function throws at the first fault. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Result, Sandbox } from './sandbox.ts';

export interface Installed {
  readonly sandbox: Sandbox;
  /** Folder of `node`. */
  readonly bin: string;
  /** Where the commands run: data are below it. */
  readonly cwd: string;
  /** What begins a command: `node_modules/.bin/uqrp`. */
  readonly command: readonly string[];
}

/** Milliseconds until the ports listen, and until a change is answered. */
const START_MS = 60_000;
const CHANGE_MS = 20_000;
const FREE_PORTS = {
  UQRP_HTTP_PORT: '0',
  UQRP_DNS_PORT: '0',
  UQRP_DOT_PORT: '0',
  UQRP_DOH_PORT: '0',
  UQRP_WORKERS: '1',
};

/** @returns standard output of a command that ends with 0 and prints no error */
export function done({ sandbox, bin, cwd, command }: Installed, ...args: readonly string[]): string {
  const { code, out, errors }: Result = sandbox.run(bin, cwd, [...command, ...args]);
  assert.equal(code, 0, `${args.join(' ')}: ${errors}`);
  assert.equal(errors, '', args.join(' '));
  return out;
}

/** Starts the server with `serve`, asks it, writes and reads a record, looks at the page at `/`, and stops it. */
export async function tryServer(installed: Installed, serve: readonly string[], page: RegExp): Promise<void> {
  const { sandbox, bin, cwd } = installed;
  const child = sandbox.start(bin, cwd, serve, FREE_PORTS);
  const log = collect(child.stderr!);
  try {
    const out = collect(child.stdout!);
    await until(START_MS, () => {
      assert.equal(child.exitCode, null, log.text());
      return out.text().includes('  token ');
    });
    const port = /DNS +127\.0\.0\.1 port (\d+)/.exec(out.text())![1]!;
    const http = /REST +http:\/\/[^:]+:(\d+)/.exec(out.text())![1]!;
    const query = (name: string): string =>
      sandbox.run(bin, cwd, [...installed.command, 'query', name, '--port', port]).out;
    // A table of the code, a file of data in the package, and the data of a package of npm.
    assert.match(query('get.100-km-to-mi.units.public.v1'), /62\.1371192237/);
    assert.match(query('get.london.sun.public.v1'), /sunrise|rise/);
    assert.match(query('geoip.ip-8-8-8-8.public.v1'), /US/);
    if (sandbox.run(bin, cwd, ['sh', '-c', 'command -v dig']).code === 0) {
      const dig = [
        'dig',
        '@127.0.0.1',
        '-p',
        port,
        '+short',
        'TXT',
        'get.100-km-to-mi.units.public.v1.uqrp.net',
      ];
      for (const line of [dig, [...dig, '+tcp']])
        assert.match(sandbox.run(bin, cwd, line).out, /res=62\.1371192237/);
    }
    done(installed, 'put', 'greeting.acme.v1', 'hello world', '--user', 'you@example.net', '--public-read');
    await until(CHANGE_MS, () => query('get.greeting.acme.v1').includes('hello world'));
    assert.equal((await fetch(`http://127.0.0.1:${http}/readyz`)).status, 200);
    const shown = await fetch(`http://localhost:${http}/`, { headers: { accept: 'text/html' } });
    assert.match(await shown.text(), page);
    const document = await (await fetch(`http://127.0.0.1:${http}/docs/protocol`)).text();
    assert.ok(document.includes(`dig @127.0.0.1 -p ${port} TXT get.`) || page.test(document), document);
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
  assert.equal(child.exitCode, 0, log.text());
  assert.match(log.text(), /"server\.stopped"/);
  const notOfTheLog = log
    .text()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'));
  assert.deepEqual(
    notOfTheLog.filter((line) => !/^(?:dashboard|documents): /.test(line)),
    [],
  );
}

function collect(stream: NonNullable<ChildProcess['stdout']>): { text(): string } {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { text: () => text };
}

async function until(limitMs: number, holds: () => boolean): Promise<void> {
  const end = Date.now() + limitMs;
  while (!holds()) {
    assert.ok(Date.now() < end, `not within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
