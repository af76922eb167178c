/**
 * Finding 4 of the second security review: strangers who know only a mail address keep its owner from signing in. Each row is an attack on another
 * person, over the REST port of a real server behind a trusted proxy. Prints a table; exit code 1 when a person was kept out.
 * @example node test/ci/lockout.ts [another checkout, to compare with]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startUqrp } from '../support/server-process.ts';

const [checkout] = process.argv.slice(2);
const env = { UQRP_WORKERS: '1', UQRP_REST_RATE: 'on', UQRP_TRUSTED_PROXIES: '127.0.0.1' };
const cli = checkout === undefined ? undefined : `${checkout}/src/cli.ts`;
const server = await startUqrp(
  env,
  undefined,
  [],
  cli === undefined ? undefined : [cli, 'serve', '--json'],
  cli,
);
const origin = `http://localhost:${server.ports.http}`;
const PAGE = { origin, 'sec-fetch-site': 'same-origin' };
/** Milliseconds until a code must have been printed. */
const PRINTED_MS = 10_000;
let printed = '';
server.child.stdout?.on('data', (chunk: Buffer) => {
  printed += chunk.toString();
});

function post(from: string, path: string, body: object, headers = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.ports.http}/api/v1/auth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from, ...headers },
    body: JSON.stringify(body),
  });
}

async function attack(from: readonly string[], times: number, path: string, body: object): Promise<void> {
  for (const one of from) for (let i = 0; i < times; i++) await (await post(one, path, body)).text();
}

/** A person's browser. */
class Browser {
  readonly #jar = new Map<string, string>();
  readonly #email: string;
  readonly #from: string;

  constructor(email: string, from: string) {
    this.#email = email;
    this.#from = from;
  }

  async #send(path: string, body: object): Promise<Response> {
    const cookie = [...this.#jar].map((pair) => pair.join('=')).join('; ');
    const answer = await post(this.#from, path, body, { ...PAGE, ...(cookie !== '' && { cookie }) });
    for (const text of answer.headers.getSetCookie()) {
      const [pair = ''] = text.split(';');
      this.#jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    await answer.text();
    return answer;
  }

  /** @returns the code, or the refusal */
  async ask(): Promise<string | Response> {
    const known = this.#codes().length;
    const answer = await this.#send('sign_in', { email: this.#email });
    if (answer.status !== 202) return answer;
    for (const end = Date.now() + PRINTED_MS; Date.now() < end; await sleep(5)) {
      const code = this.#codes().at(-1);
      if (code !== undefined && this.#codes().length > known) return code;
    }
    throw new Error('no code was printed');
  }

  verify(code: string): Promise<Response> {
    return this.#send('verify', { email: this.#email, code, cookie: true });
  }

  /** Both steps. @returns the last answer */
  async signIn(between: () => Promise<void> = async () => {}): Promise<Response> {
    const code = await this.ask();
    if (typeof code !== 'string') return code;
    await between();
    return this.verify(code);
  }

  #codes(): string[] {
    const line = new RegExp(`^(\\d{6}) is the sign-in code of ${this.#email},`, 'gm');
    return [...printed.matchAll(line)].map(([, code]) => code!);
  }
}

const STRANGERS = ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4'];
const HOME = '192.0.2.1';

interface Attack {
  readonly what: string;
  /** The browser has signed in before the attack. */
  readonly isKnown: boolean;
  readonly before?: (email: string) => Promise<void>;
  /** Between the person's request and the arrival of the mail. */
  readonly between?: (email: string) => Promise<void>;
}

const guess = (email: string) => ({ email, code: '000000' });

const ATTACKS: readonly Attack[] = [
  {
    what: '10 wrong codes from one address, no mail',
    isKnown: false,
    before: (email) => attack(STRANGERS.slice(0, 1), 10, 'verify', guess(email)),
  },
  {
    what: '10 wrong codes from the network of the person',
    isKnown: false,
    before: (email) => attack([HOME], 10, 'verify', guess(email)),
  },
  {
    what: '30 wrong codes from three addresses, after the request',
    isKnown: false,
    between: (email) => attack(STRANGERS.slice(0, 3), 10, 'verify', guess(email)),
  },
  {
    what: '3 codes asked for from one address, before the request',
    isKnown: false,
    before: (email) => attack(STRANGERS.slice(0, 1), 3, 'sign_in', { email }),
  },
  {
    what: '3 codes asked for from one address, after the request',
    isKnown: false,
    between: (email) => attack(STRANGERS.slice(0, 1), 3, 'sign_in', { email }),
  },
  {
    what: '12 codes asked for from four addresses, then 30 wrong ones',
    isKnown: true,
    before: async (email) => {
      await attack(STRANGERS, 3, 'sign_in', { email });
      await attack(STRANGERS.slice(0, 3), 10, 'verify', guess(email));
    },
    between: (email) => attack(STRANGERS, 3, 'sign_in', { email }),
  },
];

let keptOut = 0;
try {
  process.stdout.write('| attack | the person, with the right code |\n|---|---|\n');
  for (const [i, { what, isKnown, before, between }] of ATTACKS.entries()) {
    const email = `person${i}@example.net`;
    // Each person and each attack has networks of its own: budgets of a network are not what is measured.
    const from = i === 1 ? HOME : `203.0.113.${i}`;
    const browser = new Browser(email, from);
    if (isKnown && (await browser.signIn()).status !== 200) throw new Error('the first sign-in failed');
    await before?.(email);
    const { status, headers } = await browser.signIn(() => between?.(email) ?? Promise.resolve());
    const wait = headers.get('retry-after');
    process.stdout.write(`| ${what} | ${status}${wait === null ? '' : `, Retry-After ${wait}`} |\n`);
    if (status !== 200) keptOut += 1;
    STRANGERS.splice(0, STRANGERS.length, ...STRANGERS.map((_, n) => `198.51.${101 + i}.${n + 1}`));
  }
  process.stdout.write(`${keptOut} of ${ATTACKS.length} kept out\n`);
} finally {
  await server.remove();
}
if (keptOut > 0) process.exitCode = 1;
