/**
 * Those who ask one node, and what is compared with its view at once. They ask at any time, and most of all around a commit: before it,
 * while it is written, between the commit and its announcement, and over it; and the same again afterwards, when a cache may have kept what
 * it must not.
 */
import type { ChangeBody } from '../../../src/protocol/change.ts';
import type { Common } from '../common.ts';
import { InvariantError } from '../invariants.ts';
import type { Random } from '../random.ts';
import type { ProcessTimers } from '../scheduler.ts';
import { datasetLabels } from './dataset-answers.ts';
import { agrees, judge, type Verdict } from './judge.ts';
import { allOfDatasets, anyQuestion, type Names, privateQuestions, questionAbout } from './names.ts';
import type { AskedName, DecodedAnswer, NodeClaim, Observe } from './observation.ts';
import { KEYS_OCTETS, questionOctets, readReply } from './packets.ts';
import type { ReadableView, SharedView } from './shared-view.ts';
import type { Validator } from './validator.ts';
import type { EdgeWorkers } from './workers.ts';

/** The process that is asked. */
export interface AskedProcess {
  readonly timers: ProcessTimers;
  readonly workers: EdgeWorkers;
  readonly shared: SharedView;
  readonly view: ReadableView;
  readonly clock: () => number;
  /** Null: it does not listen yet. */
  claim(): NodeClaim | null;
}

export interface Asking {
  /** Some questions of any kind, within the next milliseconds. */
  some(process: AskedProcess): void;
  /** Every name that a token of a customer may open, within the next milliseconds. */
  everyPrivate(process: AskedProcess): void;
  /** Everything about the dataset, within the next milliseconds. */
  allOfDatasets(process: AskedProcess): void;
  /** The view is about to be written, for so many milliseconds. */
  writing(process: AskedProcess, changes: readonly ChangeBody[], ms: number): void;
  /** The next line commits. */
  committing(process: AskedProcess): void;
  committed(process: AskedProcess): void;
  /** The commit was announced to the workers. */
  announced(process: AskedProcess): void;
  /** Answers that the node has given. */
  readonly answered: () => number;
}

interface AskingOptions extends Pick<Common, 'scheduler' | 'counters' | 'trace'> {
  readonly node: string;
  readonly names: Names;
  readonly random: Random;
  readonly observe: Observe;
  /** Null: answers are not signed. */
  readonly validator: Validator | null;
  /** An answer counts as usage of a namespace; `isSure` false: perhaps. */
  readonly metered: (namespaceId: string, isSure: boolean) => void;
  /** What must not be; the simulation ends. */
  readonly wrong: (error: unknown) => void;
}

/** A question that is asked several times. */
interface Repeated {
  readonly asked: AskedName;
  readonly octets: Uint8Array;
  readonly worker: number;
}

interface Instant {
  readonly at: number;
  readonly claim: NodeClaim;
}

/** Reads of one answer: three counters, a refresh, and some of the view. */
const READS = 8;
/** Questions that are asked again and again. */
const REMEMBERED = 8;
/** What ends later is not waited for. */
const ENDS_WITHIN_MS = 15_000;
/** Latest of the questions that come after a commit, milliseconds. */
const AFTER_MS = 60;

export function createAsking(options: AskingOptions): Asking {
  const { node, names, random, scheduler, counters, trace, observe, validator, metered, wrong } = options;
  /** What is asked around the commit that is under way. */
  let around: Repeated | null = null;
  let held: Instant | null = null;
  /** The worker was asked since the commit: what it is asked next does not begin before it. */
  let hasSeen = false;
  let answers = 0;
  const remembered: Repeated[] = [];
  const ending = new WeakSet<Repeated>();

  function repeated({ workers }: AskedProcess, asked: AskedName): Repeated {
    return { asked, octets: questionOctets(asked, random), worker: random.between(0, workers.count - 1) };
  }

  /** @param from when and by which claim the answer's first reads are made, where that is in the past */
  function ask(process: AskedProcess, question: Repeated, from: Instant | null = null): void {
    const claim = from?.claim ?? process.claim();
    if (claim === null) return;
    const { asked } = question;
    const sentAt = from?.at ?? scheduler.now();
    const kept = from === null ? null : process.shared.kept();
    const views = kept === null ? [process.view] : [kept, process.view];
    const verdicts = views.map((view) => judge(view, asked, process.clock(), validator !== null));
    const told = (answer: DecodedAnswer | null): void => {
      const { worker } = question;
      const answeredAt = scheduler.now();
      const isOverRestore = process.claim()?.epoch !== claim.epoch;
      observe({ node, worker, sentAt, answeredAt, claim, isOverRestore, asked, answer });
    };
    const reply = replyOf(process, question, asked.transport);
    if (reply instanceof Promise) {
      counters.count('question waited');
      return;
    }
    if (reply === null) {
      told(null);
      return;
    }
    answers++;
    counters.count(`answer ${reply.rcode}`);
    if (reply.envelope !== null) counters.count('answer with a record');
    count(reply, verdicts);
    told(reply);
    const verdict = verdicts.find((each) => agrees(reply, each));
    if (verdict !== undefined) {
      askAtEnd(process, question, verdict);
      return;
    }
    wrong(new InvariantError(wrongAnswer(node, asked, reply, verdicts.at(-1)!)));
  }

  /** What ends soon is asked for again at once, so that a cache has it, and when it has ended. */
  function askAtEnd(process: AskedProcess, question: Repeated, { until }: Verdict): void {
    const left = until - process.clock();
    if (ending.has(question) || left > ENDS_WITHIN_MS) return;
    ending.add(question);
    later(process, 1, question);
    later(process, left - 1, question);
    later(process, left + random.between(0, 20), question);
  }

  /** A reply that was cut off is asked for again over TCP. */
  function replyOf(
    process: AskedProcess,
    question: Repeated,
    transport: 'udp' | 'tcp',
  ): DecodedAnswer | null | Promise<unknown> {
    const { octets, worker } = question;
    const reply = process.workers.answer(worker, octets, transport);
    if (reply === null || reply instanceof Promise) return reply;
    const read = readReply(octets, reply);
    if (read !== null) {
      if (question.asked.dnssecOk && validator !== null) validate(validator, process, worker, reply);
      return read;
    }
    if (transport === 'tcp') return read;
    counters.count('question repeated over TCP');
    return replyOf(process, question, 'tcp');
  }

  function validate(by: Validator, { workers }: AskedProcess, worker: number, reply: Uint8Array): void {
    if (by.needsKeys()) {
      const keys = workers.answer(worker, KEYS_OCTETS, 'tcp');
      if (keys === null || keys instanceof Promise) return;
      counters.count('keys of the zone read');
      by.learn(keys);
    }
    by.check(reply);
  }

  function count(reply: DecodedAnswer, verdicts: readonly Verdict[]): void {
    if (reply.envelope === null) return;
    const ids = new Set(verdicts.filter((verdict) => agrees(reply, verdict)).map(({ metered: id }) => id));
    for (const id of ids) if (id !== null) metered(id, ids.size === 1);
  }

  function later(process: AskedProcess, ms: number, question: Repeated): void {
    process.timers.after(ms, () => guarded(() => ask(process, question)));
  }

  /** What it throws ends the simulation, and not the process whose call it is in. */
  function guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      wrong(error);
    }
  }

  /** Kept for later: what ends by itself meanwhile must not be in a cache any more. */
  function remember(question: Repeated): Repeated {
    remembered.push(question);
    if (remembered.length > REMEMBERED) remembered.shift();
    return question;
  }

  return {
    answered: () => answers,
    some(process) {
      for (let left = random.between(0, 3); left > 0; left--) {
        const isNew = remembered.length === 0 || random.chance(0.3);
        const question = isNew
          ? remember(repeated(process, anyQuestion(names, random)))
          : random.pick(remembered);
        later(process, random.between(1, 40), question);
      }
    },
    everyPrivate(process) {
      for (const asked of privateQuestions(names))
        later(process, random.between(1, 40), repeated(process, asked));
    },
    allOfDatasets(process) {
      for (const asked of allOfDatasets(names))
        later(process, random.between(1, 40), repeated(process, asked));
    },
    writing(process, changes, ms) {
      around = null;
      held = null;
      hasSeen = false;
      if (changes.length === 0 || !random.chance(0.5) || process.claim() === null) return;
      const asked = questionAbout(random.pick(changes), names, random);
      if (asked === null) return;
      const question = remember(repeated(process, asked));
      around = question;
      // A cache keeps what is asked for the second time.
      guarded(() => ask(process, question));
      if (random.chance(0.5)) later(process, random.between(1, ms), question);
    },
    committing(process) {
      const claim = process.claim();
      if (around === null || claim === null) return;
      process.shared.hold(around.asked);
      held = { at: scheduler.now(), claim };
    },
    committed(process) {
      const question = around;
      // Others may have been answered from the commit: no cache may give what was true before it.
      if (question === null || held === null || !random.chance(0.3)) return;
      guarded(() => ask(process, question));
      hasSeen = true;
    },
    announced(process) {
      const question = around;
      if (question === null) return;
      const from = held;
      around = null;
      held = null;
      if (from !== null && random.chance(0.5)) {
        const reads = random.between(1, READS);
        if (!hasSeen) {
          counters.count('question over a commit');
          guarded(() => process.shared.inPast(reads, () => ask(process, question, from)));
        }
      }
      for (let left = random.between(1, 3); left > 0; left--) {
        later(process, random.between(1, AFTER_MS), question);
      }
      trace(`${node} was asked around a commit: ${question.asked.key}`);
    },
  };
}

function wrongAnswer(
  node: string,
  { key, type, dataset }: AskedName,
  reply: DecodedAnswer,
  wanted: Verdict,
): string {
  const name = dataset === null ? key : datasetLabels(dataset);
  const [is, was] = [reply, wanted].map(({ rcode, envelope }) => envelope ?? rcode);
  const ttl = reply.envelope === wanted.envelope ? `, TTL ${reply.ttl} of ${wanted.ttlMax}` : '';
  return `${node} answers what its view does not have: ${type} ${name} is ${is}, and not ${was}${ttl}`;
}
