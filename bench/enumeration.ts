/**
 * Whether the time of an answer tells if an account exists. Pairs of requests, known and unknown, in random order over one connection
 * to a real server. Prints both distributions and the z value of Mann and Whitney's test: within +-3 the two cannot be told apart.
 *
 *   node bench/enumeration.ts [PAIRS]
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createUser } from '../src/control/accounts/rules.ts';
import { openStore } from '../src/store/open.ts';
import { softwareAuthenticator } from '../test/support/control/passkeys/authenticator.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { mannWhitney, median, print, quantile, row } from './lib/figures.ts';

const PAIRS = Number(process.argv[2] ?? 1000);
const ORIGIN = 'http://localhost:8080';

/** A body of the kind that is measured. @param i number of the pair */
type Body = (i: number) => object;

const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-enumeration-'));
const addressOf = (kind: string, i: number): string => `${kind}${String(i).padStart(8, '0')}@example.net`;

const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
for (let i = 0; i < PAIRS; i++) {
  await createUser({ store, clock: Date.now, newId: randomUUID }, addressOf('known', i), 'free');
}
await store.close();

const server = await startUqrp(
  { UQRP_WORKERS: '1', UQRP_PUBLIC_URL: ORIGIN, UQRP_SECRET: randomUUID() },
  dataDir,
);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
try {
  const user = account(server, 'passkey@example.net');
  const authenticator = softwareAuthenticator(ORIGIN);
  const creation = (await user.call('POST', '/passkeys/options', {})).body;
  const registered = await user.call('POST', '/passkeys', {
    name: 'laptop',
    response: authenticator.create(creation),
  });
  if (registered.status !== 201) throw new Error(JSON.stringify(registered.body));
  const options = (await user.call('POST', '/auth/passkeys/options', {})).body;
  const wrongSignature = (id?: string): object => {
    const response = authenticator.get(options);
    // Still a signature of the right form, of other octets.
    const signature = Buffer.from(response.response.signature, 'base64url');
    signature[signature.length - 1] = signature[signature.length - 1]! ^ 1;
    const named = id === undefined ? {} : { id, rawId: id };
    return {
      response: {
        ...response,
        ...named,
        response: { ...response.response, signature: signature.toString('base64url') },
      },
    };
  };
  print(`${PAIRS} pairs; milliseconds from the request to the end of the answer`);
  print(row(['', 'median', 'p10', 'p90', 'p99', 'z']));
  const wrong = (kind: string, i: number): object => ({ email: addressOf(kind, i), code: '000000' });
  const twice =
    (kind: string): Body =>
    (i) => ({ email: addressOf(kind, i) });
  await compare(
    'verify, no code',
    '/auth/verify',
    401,
    (i) => wrong('known', i),
    (i) => wrong('other', i),
  );
  await compare('sign_in', '/auth/sign_in', 202, twice('known'), twice('other'));
  await compare(
    'verify, code sent',
    '/auth/verify',
    401,
    (i) => wrong('known', i),
    (i) => wrong('other', i),
  );
  await compare('sign_in, code stored', '/auth/sign_in', 202, twice('known'), twice('other'));
  await compare(
    'passkey options',
    '/auth/passkeys/options',
    200,
    () => ({}),
    () => ({}),
  );
  await compare(
    'passkey verify',
    '/auth/passkeys/verify',
    401,
    () => wrongSignature(),
    () => wrongSignature(randomBytes(32).toString('base64url')),
  );
} finally {
  agent.destroy();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function compare(
  name: string,
  path: string,
  status: number,
  known: Body,
  unknown: Body,
): Promise<void> {
  const times: [known: number[], unknown: number[]] = [[], []];
  for (let i = 0; i < PAIRS; i++) {
    const bodies = [known(i), unknown(i)] as const;
    const first = randomInt(2) as 0 | 1;
    for (const which of [first, (1 - first) as 0 | 1]) {
      times[which].push(await timeOf(path, JSON.stringify(bodies[which]), status));
    }
  }
  const z = mannWhitney(...times).toFixed(2);
  for (const [i, kind] of ['known', 'unknown'].entries()) {
    const values = times[i]!;
    const figures = [0.1, 0.9, 0.99].map((share) => quantile(values, share));
    print(row([`${name}, ${kind}`.slice(0, 30).padEnd(32), median(values), ...figures, i === 0 ? z : '']));
  }
}

function timeOf(path: string, body: string, status: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const began = performance.now();
    const sent = request(
      { host: '127.0.0.1', port: server.ports.http, path: `/api/v1${path}`, method: 'POST', headers, agent },
      (response) => {
        response.resume().once('end', () => {
          if (response.statusCode === status) resolve(performance.now() - began);
          else reject(new Error(`${path}: ${response.statusCode}`));
        });
      },
    );
    sent.once('error', reject).end(body);
  });
}
