/** Both packages of npm in one project: the server runs, and a program in TypeScript and a page in a browser use the client with it. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { browserMissing } from '../control/passkeys/browser.ts';
import { freePort } from '../free-port.ts';
import { openPage } from '../sdk/browser-page.ts';
import { startService } from './main-job.ts';
import { machine } from './place.ts';

const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
const PROGRAM = `import { type RecordResource, textOf, Uqrp } from 'uqrp-sdk';
import { Reader } from 'uqrp-sdk/dns';
import { verifyWebhook } from 'uqrp-sdk/webhooks';

declare const process: { env: { [name: string]: string | undefined } };
const { API = '', TOKEN = '', DNS = '' } = process.env;
const uqrp = new Uqrp({ baseUrl: API, token: TOKEN });
const namespace = await uqrp.namespaces.create('typed');
const record: RecordResource = await uqrp.records.create('greeting.typed.v1', { text: 'hello from types' });
const { token } = await uqrp.queryTokens.mint(namespace.id, { name: 'reader' });
const reading = await new Reader({ servers: [DNS], zone: 'uqrp.net', token }).text('greeting.typed.v1');
if (reading.data !== textOf(record) || typeof verifyWebhook !== 'function') throw new Error(String(reading));
`;

/** No types of the checkout, in whose folder this may be. */
const OPTIONS = {
  ...{ strict: true, exactOptionalPropertyTypes: true, target: 'es2024', module: 'nodenext' },
  ...{ lib: ['es2024', 'dom'], types: [], rootDir: 'src', outDir: 'out' },
};

/** @param folder is empty @returns what was not tried, and why; null: nothing */
export async function tryNpmPackages(
  folder: string,
  files: { readonly server: string; readonly sdk: string },
): Promise<string | null> {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', ['install', ...options, files.server, files.sdk], { cwd: folder });
  const [http, dns, dot, doh] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;
  const uqrp = [join(folder, 'node_modules/.bin/uqrp')];
  const ports = {
    UQRP_HTTP_PORT: `${http}`,
    UQRP_DNS_PORT: `${dns}`,
    UQRP_DOT_PORT: `${dot}`,
    UQRP_DOH_PORT: `${doh}`,
  };
  const as = {
    env: { PATH, HOME: folder, UQRP_DATA_DIR: join(folder, 'data'), UQRP_WORKERS: '1', ...ports },
  };
  const place = machine();
  const running = await startService({
    ...{ place, uqrp, serve: [...uqrp, 'serve'], as, zone: 'uqrp.net' },
    ports: { http, dns },
  });
  try {
    await running.read(running.write('packed', 'hello'), 'hello');
    const token = place.run([...uqrp, 'user', 'token', 'you@example.net'], as).out.trim();
    const base = `http://localhost:${http}`;
    mkdirSync(join(folder, 'src'));
    writeFileSync(join(folder, 'src/main.ts'), PROGRAM);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: OPTIONS, include: ['src'] }),
    );
    const compiled = spawnSync(process.execPath, [TSC, '-p', folder], { encoding: 'utf8' });
    assert.equal(compiled.status, 0, compiled.stdout);
    const env = { PATH, API: base, TOKEN: token, DNS: `127.0.0.1:${dns}` };
    execFileSync(process.execPath, ['out/main.js'], { cwd: folder, env });
    const missing = browserMissing();
    if (missing !== null) return missing;
    const page = await openPage(base, join(folder, 'node_modules/uqrp-sdk'));
    try {
      const read = `new sdk.Uqrp({ baseUrl: location.origin, token: '${token}' }).records.list().toArray()`;
      const keys = await page.run(`${read}.then((all) => all.map(({ key }) => key).sort().join())`);
      assert.equal(keys, 'greeting.packed.v1,greeting.typed.v1');
    } finally {
      await page.close();
    }
    return null;
  } finally {
    await running.stop();
  }
}
