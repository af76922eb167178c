import { createUser, issueToken } from '../../../src/control/accounts/rules.ts';
import { setPublicRead, setSuspended } from '../../../src/control/namespaces/rules.ts';
import type { Store } from '../../../src/store/store.ts';
import type { ArrivedDelivery, EndpointAnswer, RestRequest } from '../common.ts';
import type { SimulatedControl } from '../control.ts';
import type { Counters } from '../counters.ts';
import { isOfLog } from '../edge/dataset-answers.ts';
import type { Names } from '../edge/names.ts';
import type { Observation } from '../edge/observation.ts';
import { createAccessCheck } from '../model/access.ts';
import { createChangesCheck } from '../model/changes.ts';
import { createCounts, createCountsCheck } from '../model/counts.ts';
import type { DatasetsCheck } from '../model/datasets.ts';
import { createDnsCheck } from '../model/dns-answers.ts';
import { createErasureCheck, type ErasureCheck } from '../model/erasure.ts';
import { createMembersCheck } from '../model/members.ts';
import { createModel } from '../model/model.ts';
import { createPayloads } from '../model/payloads.ts';
import { createPreconditionsCheck } from '../model/preconditions.ts';
import { createQuotasCheck, QUOTAS } from '../model/quotas.ts';
import { createRestCheck } from '../model/rest-reads.ts';
import { createSuspensionCheck } from '../model/suspension.ts';
import { createUsageCheck } from '../model/usage.ts';
import { createWebhooksCheck } from '../model/webhooks.ts';
import type { Random } from '../random.ts';
import type { Scheduler } from '../scheduler.ts';
import type { RegistryLog } from '../transparency/registry-log.ts';
import { createClients, type Operator, type Rest } from './clients.ts';
import { KEYS, NAMES } from './customer.ts';
import { type Customers, createCustomers } from './customers.ts';
import { createEvaluations, type Evaluations, FLAGGED } from './evaluations.ts';
import { createKeeper, type Keeper } from './keeper.ts';
import { createTeam, type Team } from './team.ts';

/** Customers with all that they have, and what the model says of what they and everybody else see. */
export interface JudgedCustomers
  extends Pick<
    Customers,
    'begin' | 'act' | 'readAll' | 'writeForReads' | 'replaceAll' | 'readUsage' | 'tokenEnd' | 'dayPasses'
  > {
  /** From here on what they do depends on the seed and this step alone. */
  enter(step: number): void;
  /** Requests that wait for an answer. */
  underWay(): number;
  /** For those who ask nodes. */
  readonly names: Names;
  /** @throws ModelError */
  readonly observe: (observation: Observation) => void;
  readonly deliver: (delivery: ArrivedDelivery) => EndpointAnswer;
  /** Something goes wrong, or has just ended: times between requests and their effects are not those of quiet days. */
  disturbed(): void;
  /** A copy of that time took the place of the database. @param mayStill what was asked before may still be done */
  restored(copiedAt: number, mayStill: boolean): void;
  /** Every node has everything since this time. */
  level(at: number | null): void;
  /** Somebody has deleted an account, or got no answer to that. */
  hasLeft(): boolean;
  /** Accounts that were deleted are gone, with all that they had. */
  settled(): void;
  /** An event that has not arrived where it must; null: there is none. */
  missingDelivery(): string | null;
  /** Before the seed does, whatever endpoints answer. */
  readonly deliveriesEnd: boolean;
  /** None waits any more. */
  deliveriesHaveEnded(): void;
  readonly erasure: ErasureCheck;
  /** Null: there is no organization. */
  readonly team: Team | null;
  /** Null: nobody keeps history. */
  readonly keeper: Keeper | null;
  /** Null: nobody asks for flags over HTTP. */
  readonly evaluations: Evaluations | null;
}

interface JudgedOptions {
  readonly scheduler: Scheduler;
  readonly controls: readonly SimulatedControl[];
  readonly random: Random;
  /** How many there are. */
  readonly count: number;
  readonly counters: Counters;
  readonly schedule: readonly number[];
  readonly deliveriesEnd: boolean;
  readonly trace: (text: string) => void;
  /** Private answers of all nodes, by id of the namespace. */
  readonly given: () => ReadonlyMap<string, number>;
  /** Its usage goes with it. */
  readonly onNamespaceDeleted: () => void;
  /** Customers delete their accounts. */
  readonly mayLeave: boolean;
  readonly mayReturn: boolean;
  /** Versions that the operator has tried to publish; null: no operator does. */
  readonly datasetVersions: () => number | null;
  readonly datasets: DatasetsCheck;
  /** Null: there is no transparency log. */
  readonly log: () => RegistryLog | null;
  /** Of the users of an organization; null: there is none. */
  readonly teamRandom: Random | null;
  /** Of the customer who keeps history; null: there is none. */
  readonly keeperRandom: Random | null;
  /** Of those who ask for flags; null: nobody does. */
  readonly flagsRandom: Random | null;
  /** An evaluation may count as a private read. */
  readonly evaluated: (namespaceId: string) => void;
  /** Tokens of invitations, by mail address. */
  readonly invitations: ReadonlyMap<string, string>;
  readonly wrong: (error: unknown) => void;
}

/** A node that is not stale heard a heartbeat at most 8 s ago, which was at most 10 s on its way (docs/FEED.md). */
const CLAIM_MS = 18_000;
/** After a fault: leases, requests that still run in a process that was paused. */
const CALM_MS = 120_000;
const GRACE_MS = 1_000;
/** What was deleted is in no file after so many milliseconds: ten seconds are documented (docs/api/records.md), and no clock or load is perfect. */
export const ERASED_MS = 15_000;

export function createJudgedCustomers(options: JudgedOptions): JudgedCustomers {
  const { scheduler, controls, random, counters, trace, wrong } = options;
  const now = (): number => scheduler.now();
  const model = createModel();
  let disturbedAt = Number.NEGATIVE_INFINITY;
  let levelAt: number | null = null;
  let mostAhead = 0;
  let mostWrong = 0;
  let urls = 0;

  /** By how much any control process was ahead. */
  const ahead = (): number => {
    for (const { machine } of controls) {
      const wrongBy = machine.clock.wall() - now();
      mostAhead = Math.max(mostAhead, wrongBy);
      mostWrong = Math.max(mostWrong, Math.abs(wrongBy));
    }
    return mostAhead;
  };

  const rest: Rest = {
    async request({ method, path, body, headers = {} }, token) {
      const control = random.pick(controls);
      const { clock } = control.machine;
      const before = clock.wall();
      const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
      const request = { path: `/api/v1${path}`, headers: { ...headers, ...authorization }, body };
      if (method === 'DELETE' && /^\/(me|namespaces\/[^/]+)$/.test(path)) options.onNamespaceDeleted();
      const answer = await control.request({ method: method as RestRequest['method'], ...request });
      ahead();
      if (answer === null) return { answer: null, mayStill: control.isRunning() };
      counters.count(`customer ${answer.status}`);
      const after = clock.wall();
      return { answer, clock: { from: Math.min(before, after), to: Math.max(before, after) } };
    },
    stream: (path, token, onText) =>
      random
        .pick(controls)
        .stream(
          { method: 'GET', path: `/api/v1${path}`, headers: { authorization: `Bearer ${token}` } },
          (text) => {
            counters.count(text === null ? 'stream ended' : 'stream goes on');
            onText(text);
          },
        ),
  };

  const operator: Operator = {
    async user(email, tier) {
      const token = await random.pick(controls).operate(async (deps) => {
        await createUser(deps, email, tier).catch(() => {});
        return issueToken(deps, email).catch(() => null);
      });
      return token?.token ?? null;
    },
    async namespace(id, name, setting, on) {
      const set = setting === 'suspend' ? setSuspended : setPublicRead;
      const done = await random.pick(controls).operate(async (deps) => {
        // Commands take a name, which may be that of another namespace since: of somebody else, who took it when it was free.
        const write: Store['write'] = (work) =>
          deps.store.write(async (tx) => {
            const made = await work(tx);
            if ((made as { readonly id?: string }).id !== id) throw new Error('another namespace');
            return made;
          });
        await set({ ...deps, store: { ...deps.store, write } }, name, on);
        return true;
      });
      return done === true;
    },
  };

  const access = createAccessCheck(model);
  const preconditions = createPreconditionsCheck(model);
  const changes = createChangesCheck(model);
  const dns = createDnsCheck(model, { ahead });
  const webhooks = createWebhooksCheck(model, {
    graceMs: () => (now() - disturbedAt < CALM_MS ? CALM_MS : GRACE_MS),
    wasDisturbedSince: (ms) => disturbedAt >= ms - CALM_MS,
    skewMs: () => {
      ahead();
      return mostWrong;
    },
    schedule: options.schedule,
  });
  const counts = createCounts(model, ahead);
  const clients = createClients({
    model,
    rest,
    operator,
    checks: [
      access,
      preconditions,
      createRestCheck(model, { ahead }),
      createCountsCheck(model, counts),
      createQuotasCheck(model, counts, QUOTAS),
      changes,
      createSuspensionCheck(model),
      createUsageCheck(model, options.given),
    ],
    now,
    pause: (ms) =>
      new Promise((go) => {
        scheduler.after(ms, go);
      }),
    trace,
  });
  const customers = createCustomers({
    random,
    count: options.count,
    clients,
    operator,
    payloads: createPayloads(),
    changes,
    mayLeave: options.mayLeave,
    mayReturn: options.mayReturn,
    deliveriesEnd: options.deliveriesEnd,
    onApplied: dns.applied,
    onReturn: () => options.counters.count('address taken again'),
    onError: wrong,
    newUrl: () => `https://${random.pick(ENDPOINTS)}.example.com/${++urls}`,
  });

  const team =
    options.teamRandom === null
      ? null
      : createTeam({
          random: options.teamRandom,
          rest,
          operator,
          invitations: options.invitations,
          check: createMembersCheck(),
          wrong,
          count: (what) => counters.count(what),
        });

  const keeper =
    options.keeperRandom === null
      ? null
      : createKeeper({
          random: options.keeperRandom,
          rest,
          operator,
          wrong,
          count: (what) => counters.count(what),
        });

  const evaluations =
    options.flagsRandom === null
      ? null
      : createEvaluations({
          random: options.flagsRandom,
          scheduler,
          controls,
          rest,
          operator,
          metered: options.evaluated,
          wrong,
          count: (what) => counters.count(what),
        });

  return {
    team,
    keeper,
    evaluations,
    begin: customers.begin,
    act: customers.act,
    readAll: customers.readAll,
    readUsage: customers.readUsage,
    writeForReads: customers.writeForReads,
    replaceAll: customers.replaceAll,
    tokenEnd: (now) => customers.tokenEnd(now),
    dayPasses: () => customers.dayPasses(),
    enter: (step) => random.enter(step),
    underWay: () => customers.underWay,
    names: {
      get datasetVersions() {
        return options.datasetVersions();
      },
      get isLogged() {
        return options.log() !== null;
      },
      namespaces: NAMES,
      keysOf: (name) => KEYS.map((key) => key.replace('NAME', name)),
      tokensOf: (name) =>
        [...customers.all, ...customers.left].flatMap(({ tokens }) =>
          tokens.filter((token) => token.name === name).map(({ token }) => token),
        ),
    },
    observe({ node: name, sentAt, answeredAt, claim, isOverRestore, asked, answer }) {
      if (answer === null || (asked.type !== 'TXT' && asked.type !== 'A')) return;
      model.event(answeredAt);
      counters.count('answer judged');
      const { clock, currentAt, isStale, epoch, anew } = claim;
      // Whoever lost the view and has not heard of the end of the log is somebody else: it may be behind what it has shown before.
      const node = anew === null ? name : `${name} begun ${anew} times`;
      if (asked.dataset !== null) {
        const { rcode, envelope: text } = answer;
        const { dataset, type } = asked;
        if (type !== 'TXT') return;
        if (isOfLog(dataset)) options.log()?.answered(node, dataset, text);
        else {
          const given = { node, epoch, isOverRestore, sentAt, answeredAt, asked: dataset, rcode, text };
          options.datasets.answered(given);
        }
        return;
      }
      // The model is not told of what is done there.
      if (asked.namespace === FLAGGED) return;
      const claimed = isStale || currentAt === null ? null : sentAt - (clock - currentAt) - CLAIM_MS;
      dns.answered({
        node,
        sentAt,
        answeredAt,
        clock: { from: clock, to: clock + (answeredAt - sentAt) },
        claim: { epoch, currentAt: levelAt ?? claimed },
        key: asked.key,
        token: asked.token,
        type: asked.type,
        rcode: answer.rcode,
        answers: answer.envelope === null ? [] : [{ text: answer.envelope, ttl: answer.ttl! }],
      });
    },
    deliver({ url, headers, body }) {
      const answer = endpointAnswer(new URL(url).hostname.split('.')[0]!, random);
      const status =
        answer !== null && 'status' in answer && answer.afterMs < DEADLINE_MS ? answer.status : null;
      counters.count(`delivery arrived: ${status}`);
      try {
        webhooks.received({ at: now(), url, headers: lowerCase(headers), body, status });
      } catch (error) {
        wrong(error);
      }
      return answer;
    },
    disturbed() {
      // A clock that is put right was wrong until now, also where nobody has asked meanwhile.
      ahead();
      disturbedAt = now();
    },
    restored(copiedAt, mayStill) {
      // The last event before it: what the next one tells of may have been written after it.
      const last = Math.max(0, model.numberAt(copiedAt) - 1);
      model.restored(now(), last, mayStill);
      webhooks.restored();
      access.restored(last);
      team?.restored();
      keeper?.restored();
      preconditions.restored();
    },
    level(at) {
      levelAt = at;
    },
    hasLeft: () => customers.left.length > 0,
    settled: () => model.settled(now()),
    missingDelivery: webhooks.missing,
    deliveriesEnd: options.deliveriesEnd,
    deliveriesHaveEnded: () => webhooks.ended(),
    erasure: createErasureCheck(model, { boundMs: ERASED_MS, isOwed: webhooks.isOwed }),
  };
}

const ENDPOINTS = ['well', 'well', 'well', 'flaky', 'slow', 'gone'];
const DEADLINE_MS = 5_000;

/** By the first label of the host. */
function endpointAnswer(kind: string, random: Random): EndpointAnswer {
  if (kind === 'well') return { afterMs: random.between(1, 50), status: 204 };
  if (kind === 'slow') return { afterMs: random.between(10, 8_000), status: 200 };
  if (kind === 'gone') return { afterMs: 5, status: 410 };
  return random.pick<EndpointAnswer>([
    { afterMs: 5, status: 200 },
    { afterMs: 5, status: 500 },
    { afterMs: 5, status: 302 },
    { afterMs: 5, status: 503, retryAfter: '7' },
    { afterMs: 5, fault: 'connection_failed' },
    null,
  ]);
}

const lowerCase = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
