import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

describe('a start that cannot succeed ends the process', () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-start-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  async function serve(env: NodeJS.ProcessEnv): Promise<{ code: number | null; errors: string }> {
    const free = { UQRP_HTTP_PORT: '0', UQRP_DNS_PORT: '0', UQRP_DOT_PORT: '0', UQRP_DOH_PORT: '0' };
    const child = spawn(process.execPath, [CLI, 'serve'], {
      env: { ...process.env, UQRP_DATA_DIR: dir, ...free, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 20_000,
    });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    return { code, errors };
  }

  it('with code 2 and every fault listed, for bad values', async () => {
    const { code, errors } = await serve({
      UQRP_DNS_PORT: '70000',
      UQRP_ROLE: 'captain',
      UQRP_SECRET: 'too short',
    });
    assert.equal(code, 2);
    for (const name of ['UQRP_DNS_PORT', 'UQRP_ROLE', 'UQRP_SECRET']) assert.ok(errors.includes(name), name);
    assert.ok(!errors.includes('too short'), 'no value is repeated');
  });

  it('with code 1 when a DNS port is taken', async () => {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    try {
      const { code, errors } = await serve({ UQRP_DNS_PORT: String(socket.address().port) });
      assert.equal(code, 1, errors);
      assert.match(errors, /UQRP_DNS_PORT \d+\/udp is in use by process \d+/);
    } finally {
      socket.close();
    }
  });
});
