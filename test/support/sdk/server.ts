import { rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Uqrp } from '../../../sdk/src/rest/uqrp.ts';
import { startUqrp, type UqrpPorts } from '../server-process.ts';

/** Address of the customer of `TestServer.customer`. Its tier allows everything. */
export const CUSTOMER = 'test@example.net';
const PRINTED_MS = 20_000;

/** A running server that the test files of one process share. Each file has its own namespaces. */
export interface TestServer {
  /** URL of the API. */
  readonly base: string;
  readonly ports: UqrpPorts;
  readonly dataDir: string;
  readonly token: string;
  readonly customer: Uqrp;
  /** Signs in by code, which makes an account of a new address. */
  signIn(email: string): Promise<Uqrp>;
  /** The newest code that the server has printed for the address since the last call. */
  codeOf(email: string): Promise<string>;
  invitationOf(email: string): Promise<string>;
  readonly cli: (args: readonly string[]) => string;
}

let shared: Promise<TestServer> | null = null;

/** Starts the server at the first call. It ends with the process. */
export function testServer(): Promise<TestServer> {
  shared ??= open();
  return shared;
}

async function open(): Promise<TestServer> {
  const server = await startUqrp({ UQRP_WORKERS: '1', UQRP_ORGANIZATIONS: 'on', UQRP_DATASETS: 'on' });
  const { child, dataDir, ports } = server;
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  // The process may end while the server runs; it then ends the server.
  child.unref();
  for (const pipe of [child.stdout, child.stderr]) (pipe as Socket | null)?.unref();
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });
  const take = async (line: RegExp): Promise<string> => {
    const until = Date.now() + PRINTED_MS;
    for (let found = line.exec(printed); ; found = line.exec(printed)) {
      if (found !== null) {
        printed = printed.replace(found[0], '');
        return found[1] ?? '';
      }
      if (Date.now() > until) throw new Error('the server printed no such line');
      await sleep(5);
    }
  };
  const base = `http://localhost:${ports.http}/api/v1`;
  const nobody = new Uqrp({ baseUrl: base });
  const codeOf = (email: string): Promise<string> =>
    take(new RegExp(`^(\\d{6}) is the sign-in code of ${email},.*$`, 'm'));
  const issue = async (email: string): Promise<string> => {
    await nobody.auth.signIn(email);
    return (await nobody.auth.verify(email, await codeOf(email))).token;
  };
  server.cli(['user', 'create', CUSTOMER, '--tier', 'enterprise']);
  const token = await issue(CUSTOMER);
  return {
    base,
    ports,
    dataDir,
    token,
    customer: nobody.withToken(token),
    signIn: async (email) => nobody.withToken(await issue(email)),
    codeOf,
    invitationOf: (email) => take(new RegExp(`^([0-9a-f]{64}) is an invitation of ${email},.*$`, 'm')),
    cli: (args) => server.cli(args),
  };
}
