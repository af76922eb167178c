import type { Model, Pending } from '../model/model.ts';
import type { RestCheck } from '../model/rest-reads.ts';
import type { ClockRange, Request, RestAnswer } from '../model/told.ts';
import type { OpenStream } from '../rest.ts';

/** What came of a request. */
export type Outcome =
  | { readonly answer: RestAnswer; readonly clock: ClockRange }
  /** `mayStill`: the process lives, so that it may still be done. */
  | { readonly answer: null; readonly mayStill: boolean };

/** REST, as far as a customer reaches it. */
export interface Rest {
  /** @param token null: without a credential */
  request(request: Request, token: string | null): Promise<Outcome>;
  /** See `SimulatedControl`. */
  readonly stream: (
    path: string,
    token: string | null,
    onText: (text: string | null) => void,
  ) => Promise<OpenStream | null>;
}

/** The operator's commands, at whichever control process runs. Null, false: it failed, and may have happened all the same. */
export interface Operator {
  /** Makes an account. @returns a session token */
  user(email: string, tier: 'free' | 'pro' | 'team'): Promise<string | null>;
  namespace(id: string, name: string, setting: 'public-read' | 'suspend', on: boolean): Promise<boolean>;
}

/** Sends requests, tells the model of them, and shows every answer to the checks. */
export interface Clients {
  ask(
    request: Request,
    token: string | null,
  ): Promise<{ readonly pending: Pending; readonly answer: RestAnswer | null }>;
  /** @param id of the namespace */
  operate(id: string, name: string, setting: 'public-read' | 'suspend', on: boolean): Promise<void>;
  /** An answer that goes on. No check is shown it. @param onText what comes, and null at the end */
  readonly stream: Rest['stream'];
  /** Something is asked for or seen now. @returns its number */
  event(): number;
  /** Real milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

export interface ClientsOptions {
  readonly model: Model;
  readonly rest: Rest;
  readonly operator: Operator;
  readonly checks: readonly RestCheck[];
  /** Real milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
  readonly trace: (text: string) => void;
}

export function createClients(options: ClientsOptions): Clients {
  const { model, rest, operator, checks, now, pause, trace } = options;
  return {
    now,
    pause,
    event: () => model.event(now()),
    stream: rest.stream,
    async ask(request, token) {
      const pending = model.sent(now(), request);
      const outcome = await rest.request(request, token);
      const { account, method, path } = request;
      trace(`${account} ${method} ${path}: ${outcome.answer?.status ?? 'no answer'}`);
      if (outcome.answer === null) {
        model.lost(now(), pending, outcome.mayStill);
        return { pending, answer: null };
      }
      model.answered(now(), pending, outcome.answer);
      for (const check of checks) check.answered(pending, outcome.answer, outcome.clock);
      return { pending, answer: outcome.answer };
    },
    async operate(id, name, setting, on) {
      const body = { namespace: { [setting === 'suspend' ? 'suspended' : 'public_read']: on } };
      const request = {
        account: 'operator',
        credential: '',
        method: 'OPERATOR',
        path: `/namespaces/${id}`,
        body,
      };
      const pending = model.sent(now(), request);
      const isDone = await operator.namespace(id, name, setting, on);
      trace(`operator ${setting} ${name} ${on}: ${isDone}`);
      if (isDone) model.answered(now(), pending, { status: 200, body: null, headers: {} });
      else model.lost(now(), pending, true);
    },
  };
}
