/**
 * Programs that ask control processes for feature flags, and the owner of the flags. A process that was asked keeps flags, query tokens and API
 * keys in its memory (`src/control/flags`): whatever goes wrong meanwhile, with nothing that fails each one answers by what is stored.
 */
import type { SimulatedControl } from '../control.ts';
import { ModelError, type RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';
import type { Scheduler } from '../scheduler.ts';
import type { Operator, Rest } from './clients.ts';
import { type Credential, createWatching, type Wanted } from './watching.ts';

export interface Evaluations {
  enter(step: number): void;
  /** The owner does something in some steps, unless something is under way, and programs ask. */
  perhaps(): void;
  /** With nothing that fails: every process answers every credential by what is stored, and knows of each change in time. */
  finish(): void;
  isActing(): boolean;
}

interface EvaluationsOptions {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly controls: readonly SimulatedControl[];
  readonly rest: Rest;
  readonly operator: Operator;
  /** An evaluation may count as a private read of the namespace. */
  readonly metered: (namespaceId: string) => void;
  readonly wrong: (error: unknown) => void;
  readonly count: (what: string) => void;
}

const ACCOUNT = 'flags@example.org';
/** The name is taken again after each deletion, so that processes know it from before. */
export const FLAGGED = 'flagged';
const FLAGS = ['a', 'b', 'c'];
const DAYS = [1, 30, 365];
/** In so many steps of a storm. */
const ACTS = 0.9;
const ACTS_MOST = 4;
const ASKS_MOST = 3;
/** Of the last ones, whatever became of them: more would take longer. */
const CREDENTIALS_MOST = 5;
/** After the last fault: a process looks keys up again every five seconds, and goes on without the log for some. */
const LEVEL_MS = 12_000;
const STEP_MS = 250;
/** Documented: another process knows of a write within a second (docs/FLAGS.md). A message takes some milliseconds more. */
const ELSEWHERE_MS = 1_050;

/** Pages hear of a change once a second, and open their streams again when these have ended. */
const SHOWN_MS = 4_000;

const wrongly = (reason: string): ModelError => new ModelError(`the flags: ${reason}`);

export function createEvaluations(options: EvaluationsOptions): Evaluations {
  const { random, scheduler, controls, rest, operator, metered, count, wrong } = options;
  let session: string | null = null;
  let namespace: string | null = null;
  let isActing = false;
  let values = 0;
  /** Evaluations that were asked for. */
  let asked = 0;
  /** Of all namespaces that had the name. */
  const ids = new Set<string>();
  const credentials: Credential[] = [];

  const pause = (ms: number): Promise<void> =>
    new Promise((go) => {
      scheduler.after(ms, go);
    });

  /** @returns null: no answer came, or none that says anything */
  async function send(method: string, path: string, body?: object): Promise<RestAnswer | null> {
    session ??= await operator.user(ACCOUNT, 'team');
    const request = { account: ACCOUNT, credential: 'session', method, path, body };
    const { answer } = await rest.request(request, session);
    if (answer?.status === 401) session = null;
    return answer === null || answer.status >= 300 ? null : answer;
  }

  async function founded(): Promise<string | null> {
    if (namespace !== null) return namespace;
    const list = await send('GET', '/namespaces');
    const known = (list?.body as readonly { id: string; name: string }[] | undefined)?.find(
      ({ name }) => name === FLAGGED,
    );
    const made = known ?? (await send('POST', '/namespaces', { namespace: { name: FLAGGED } }))?.body;
    namespace = made?.id ?? null;
    if (namespace !== null && !ids.has(namespace)) {
      ids.add(namespace);
      // Whoever has a key may have asked before the answer to its creation came.
      for (let times = 0; times < asked; times++) metered(namespace);
    }
    return namespace;
  }

  const keyOf = (flag: string): string => `${flag}.flags.${FLAGGED}.v1`;

  function recordOf(flag: string): { readonly key: string; readonly data: string } {
    const document = { version: 1, variants: { on: `value ${++values}` }, defaultVariant: 'on' };
    return { key: keyOf(flag), data: Buffer.from(JSON.stringify(document)).toString('base64') };
  }

  function remember(kind: Credential['kind'], answer: RestAnswer | null): void {
    if (answer === null) return;
    credentials.push({ kind, id: answer.body.id, text: answer.body.token });
    if (credentials.length > CREDENTIALS_MOST) credentials.shift();
  }

  const pathOf = ({ kind, id }: Credential): string =>
    kind === 'token' ? `/namespaces/${namespace}/query_tokens/${id}` : `/api_keys/${id}`;

  const acts: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    writes: () => send('POST', '/records/bulk', { records: [recordOf(random.pick(FLAGS))] }),
    deletes: () => send('POST', '/records/bulk', { delete: [keyOf(random.pick(FLAGS))] }),
    async mints(id) {
      const body = { name: 't', expires_in_days: random.pick(DAYS) };
      remember('token', await send('POST', `/namespaces/${id}/query_tokens`, body));
    },
    async 'makes a key'() {
      const scopes = { operations: ['read'], namespaces: [FLAGGED] };
      remember('key', await send('POST', '/api_keys', { api_key: { name: 'k', scopes } }));
    },
    async revokes() {
      if (credentials.length > 0) await send('DELETE', pathOf(random.pick(credentials)));
    },
    opens: (id) => operator.namespace(id, FLAGGED, 'public-read', random.chance(0.5)),
    suspends: (id) => operator.namespace(id, FLAGGED, 'suspend', random.chance(0.4)),
    async leaves(id) {
      await send('DELETE', `/namespaces/${id}`);
      namespace = null;
    },
  };
  /** What is there twice comes twice as often. */
  const drawn = [
    ...['writes', 'writes', 'writes', 'writes', 'deletes', 'mints', 'mints', 'makes a key'],
    ...['revokes', 'opens', 'suspends', 'leaves'],
  ];

  const prefixOf = (credential: Credential | null): string =>
    credential === null ? `/flags/${FLAGGED}` : '';

  /** All flags, of a process. @param credential null: of an open namespace @param tag it waits for @returns null: no answer came */
  async function evaluate(
    control: SimulatedControl,
    credential: Credential | null,
    tag = '',
  ): Promise<RestAnswer | null> {
    asked++;
    for (const id of ids) metered(id);
    const path = `${prefixOf(credential)}/ofrep/v1/evaluate/flags?flagConfigEtag=${tag}`;
    const headers = credential === null ? {} : { authorization: `Bearer ${credential.text}` };
    const answer = await control.request({ method: 'POST', path, headers, body: { context: {} } });
    if (answer !== null) count(`flags asked: ${answer.status}`);
    return answer;
  }

  const anyCredential = (): Credential | null =>
    credentials.length === 0 || random.chance(0.2) ? null : random.pick(credentials);

  async function some(): Promise<void> {
    for (let left = random.between(1, ACTS_MOST); left > 0; left--) {
      const id = await founded();
      if (id !== null) await acts[random.pick(drawn)]!(id);
    }
  }

  function begin(run: () => Promise<void>): void {
    isActing = true;
    void run()
      .catch(wrong)
      .finally(() => {
        isActing = false;
      });
  }

  /** @throws ModelError */
  async function stored(path: string): Promise<RestAnswer['body']> {
    const answer = await send('GET', path);
    if (answer === null) throw wrongly(`GET ${path} fails with nothing that fails`);
    return answer.body;
  }

  /** By what is stored. */
  async function wantedOf(credential: Credential | null): Promise<Wanted> {
    const found = (await stored('/namespaces')) as readonly {
      readonly name: string;
      readonly public_read?: true;
      readonly suspended?: true;
    }[];
    const own = found.find(({ name }) => name === FLAGGED)!;
    const refused = { status: 401, flags: '' };
    if (credential === null) {
      if (own.public_read !== true || own.suspended === true) return refused;
    } else if (credential.kind === 'key') {
      const keys = (await stored('/api_keys')) as readonly { readonly id: string }[];
      if (keys.every(({ id }) => id !== credential.id)) return refused;
    } else {
      const tokens = (await stored(`/namespaces/${namespace}/query_tokens`)) as readonly {
        readonly id: string;
        readonly revoked_at: string | null;
        readonly expires_at: string;
      }[];
      const isLive = tokens.some(
        ({ id, revoked_at: revoked, expires_at: end }) =>
          id === credential.id && revoked === null && Date.parse(end) > scheduler.now(),
      );
      if (!isLive) return refused;
    }
    if (own.suspended === true) return { status: 403, flags: '' };
    const records = (await stored(`/records?namespace=${FLAGGED}`)) as readonly {
      readonly key: string;
      readonly data: string;
    }[];
    const pairs = records.map(({ key, data }) => {
      const { variants } = JSON.parse(Buffer.from(data, 'base64').toString()) as { variants: { on: string } };
      return [key.split('.')[0]!, variants.on] as const;
    });
    return { status: 200, flags: JSON.stringify(pairs.toSorted(([a], [b]) => (a < b ? -1 : 1))) };
  }

  function shownBy(answer: RestAnswer | null): Wanted {
    if (answer?.status !== 200) return { status: answer?.status ?? 0, flags: '' };
    const flags = answer.body.flags as readonly { readonly key: string; readonly value?: string }[];
    return { status: 200, flags: JSON.stringify(flags.map(({ key, value }) => [key, value])) };
  }

  const { now } = scheduler;
  const watching = createWatching({
    ...{ random, controls, prefixOf, evaluate, shownBy, now, pause, wrong, count },
  });

  /** @param ms until then it may be as before @throws ModelError */
  async function expect(control: SimulatedControl, credential: Credential | null, ms: number): Promise<void> {
    const { status, flags } = await wantedOf(credential);
    const end = scheduler.now() + ms;
    for (;;) {
      const shown = shownBy(await evaluate(control, credential));
      if (shown.status === status && shown.flags === flags) return;
      if (scheduler.now() >= end)
        throw wrongly(
          `${control.name} answers ${credential?.kind ?? 'everybody'} ${shown.status} ${shown.flags}, and not ${status} ${flags}`,
        );
      await pause(Math.min(STEP_MS, Math.max(1, end - scheduler.now())));
    }
  }

  async function expectEverywhere(ms: number): Promise<void> {
    for (const control of controls)
      for (const credential of [null, ...credentials]) await expect(control, credential, ms);
    watching.all([null, ...credentials.slice(-2)]);
    await watching.expect(wantedOf, SHOWN_MS);
  }

  /** Sent to one process, whose evaluations know of it at once. @throws ModelError */
  async function through(control: SimulatedControl, method: 'POST' | 'DELETE', path: string, body?: object) {
    const headers = { authorization: `Bearer ${session}` };
    const answer = await control.request({ method, path: `/api/v1${path}`, headers, body });
    if (answer === null || answer.status >= 300)
      throw wrongly(`${method} ${path} is answered ${answer?.status}, with nothing that fails`);
  }

  /** @throws ModelError */
  async function all(): Promise<void> {
    // A session that has ended meanwhile is another one at the second time.
    if ((await send('GET', '/me')) === null) await send('GET', '/me');
    namespace = null;
    const id = (await founded()) ?? (await founded());
    if (id === null) throw wrongly('there is no namespace, with nothing that fails');
    await expectEverywhere(LEVEL_MS);
    for (const setting of ['suspend', 'public-read'] as const)
      await operator.namespace(id, FLAGGED, setting, false);
    await acts.mints!(id);
    await acts['makes a key']!(id);
    await pause(ELSEWHERE_MS);
    await expectEverywhere(0);
    const control = random.pick(controls);
    await through(control, 'POST', '/records/bulk', { records: [recordOf('a')], delete: [keyOf('b')] });
    for (const credential of credentials) await expect(control, credential, 0);
    await pause(ELSEWHERE_MS);
    await expectEverywhere(0);
    const ended = random.pick(credentials.slice(-2));
    await through(control, 'DELETE', pathOf(ended));
    await expect(control, ended, 0);
    await pause(ELSEWHERE_MS);
    await expectEverywhere(0);
    count('flags level');
  }

  return {
    enter: (step) => random.enter(step),
    perhaps() {
      for (let left = random.between(0, ASKS_MOST); left > 0; left--)
        void evaluate(random.pick(controls), anyCredential());
      watching.perhaps(anyCredential());
      if (random.chance(ACTS) && !isActing) begin(some);
    },
    finish: () => begin(all),
    isActing: () => isActing,
  };
}
