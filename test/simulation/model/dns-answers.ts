import type { Model } from './model.ts';
import type { Applied, Register, Write } from './register.ts';
import { type Found, payloadOf, whyNot } from './specification.ts';
import { namespaceOf, type RecordValue } from './state.ts';
import { type DnsAnswer, ModelError } from './told.ts';

/**
 * Every answer of every node is one that the specification allows at some instant between what the node claims to have and now. Nodes go
 * forward alone: whoever has shown a write has applied it, and all that was done before it was asked for.
 */
export interface DnsCheck {
  /** @throws ModelError */
  answered(answer: DnsAnswer): void;
  /** Control told that the node has this write. */
  readonly applied: (node: string, write: Write<unknown>) => void;
}

interface DnsCheckOptions {
  /** By how much a process that deletes what has expired may be ahead of the real time. */
  readonly ahead: () => number;
}

/** What a node has shown since its database is this one, and when: an answer that was begun before may be older. */
interface Shown {
  epoch: string | null;
  /** Since `ms` it has everything that was done before the event `floor`. Ascending. */
  readonly floors: { readonly ms: number; readonly floor: number }[];
  /** When it had a write for the first time. */
  readonly applied: Map<Write<unknown>, number>;
}

/** Something that may be found at an instant, and the writes that would have made it so. */
interface Possible {
  readonly found: Found;
  readonly by: readonly Write<unknown>[];
}

export function createDnsCheck(model: Model, { ahead }: DnsCheckOptions): DnsCheck {
  const { state } = model;
  const nodes = new Map<string, Shown>();

  function shownBy(node: string, epoch: string | null): Shown {
    const known = nodes.get(node);
    if (known !== undefined && (epoch === null || known.epoch === null || known.epoch === epoch)) {
      known.epoch ??= epoch;
      return known;
    }
    const fresh: Shown = { epoch, floors: [], applied: new Map() };
    nodes.set(node, fresh);
    return fresh;
  }

  /** Before that millisecond. */
  const floorAt = ({ floors }: Shown, ms: number): number =>
    floors.findLast((each) => each.ms < ms)?.floor ?? 0;

  function raise(shown: Shown, ms: number, floor: number): void {
    const last = shown.floors.at(-1);
    if (last !== undefined && (last.floor >= floor || last.ms > ms)) return;
    shown.floors.push({ ms, floor });
  }

  function note(shown: Shown, ms: number, write: Write<unknown>): void {
    shown.applied.set(write, Math.min(ms, shown.applied.get(write) ?? ms));
    raise(shown, ms, write.from);
  }

  return {
    answered(answer) {
      const { node, claim, answers, key } = answer;
      const shown = shownBy(node, claim.epoch);
      const { sentAt, answeredAt } = answer;
      // What was answered before the claimed instant was committed before it.
      const claimed = claim.currentAt === null ? 0 : model.numberAt(claim.currentAt) - 1;
      const floor = Math.max(claimed, floorAt(shown, sentAt));
      const applied: Applied = {
        has: (write) => (shown.applied.get(write) ?? Number.POSITIVE_INFINITY) < sentAt,
      };
      if (answers[0] !== undefined) {
        const data = payloadOf(answers[0].text);
        const write = data === null ? null : model.seen(key, data);
        if (write === null) throw fault(answer, ['a payload that nobody wrote here']);
      }
      const reasons = new Set<string>();
      const allowed: Possible[] = [];
      let earliest = Number.POSITIVE_INFINITY;
      const clocks = { node: answer.clock, sweeper: model.time() + ahead() };
      for (const at of instants(answer, floor)) {
        for (const possible of possibleAt(answer, at, applied, claimed)) {
          const reason = whyNot(possible.found, answer, clocks);
          if (reason !== null) reasons.add(reason);
          else {
            allowed.push(possible);
            earliest = Math.min(earliest, at);
          }
        }
      }
      if (allowed.length === 0) throw fault(answer, [...reasons]);
      raise(shown, answeredAt, earliest);
      // Without this write the answer would be a wrong one.
      for (const write of allowed[0]!.by) {
        if (allowed.every(({ by }) => by.includes(write))) note(shown, answeredAt, write);
      }
    },
    applied: (node, write) => note(shownBy(node, null), model.time(), write),
  };

  /** Those at which anything that matters may have begun to be true. */
  function instants({ key, token }: DnsAnswer, floor: number): ReadonlySet<number> {
    const name = namespaceOf(key);
    const registers: Register<unknown>[] = [state.name(name), state.record(key)];
    for (const namespace of state.namespaces.values()) {
      if (namespace.name !== name) continue;
      registers.push(namespace.isClosed, namespace.isSuspended, namespace.publicRead, namespace.maxTtl);
    }
    const known = token === null ? undefined : state.tokens.get(token);
    if (known !== undefined) registers.push(known.isLive);
    const starts = registers.flatMap(({ writes }) => writes.map(({ from }) => from));
    return new Set([floor, ...starts.filter((from) => from > floor)]);
  }

  /** @param claimed the event before which the node has everything */
  function* possibleAt(
    { key, token }: DnsAnswer,
    at: number,
    applied: Applied,
    claimed: number,
  ): Generator<Possible> {
    const of = <V>(register: Register<V>): readonly Write<V>[] => register.possible(at, at, applied);
    const known = token === null ? undefined : state.tokens.get(token);
    const latest = model.time() + ahead();
    // Whoever deletes what has expired may have done so, since the node had everything.
    const mayEnd = ({ value, to }: Write<RecordValue | null>): boolean => {
      const expiresAt = value === null ? null : value.expiresAt;
      return expiresAt !== null && (expiresAt === undefined || expiresAt <= latest) && to > claimed;
    };
    const records = state.record(key);
    for (const record of of(records)) {
      // The log keeps the last payload of a record alone, and a node does without those of before.
      const isGone = record.value !== null && (records.mayBeReplaced(record) || mayEnd(record));
      for (const name of of(state.name(namespaceOf(key)))) {
        const space = name.value === null ? undefined : state.namespaces.get(name.value);
        if (space === undefined) {
          yield { found: { namespace: null, token: null, record: record.value, isGone }, by: [record, name] };
          continue;
        }
        const flags = [space.isClosed, space.isSuspended, space.publicRead, known?.isLive ?? null];
        for (const by of combinations(flags.map((register) => (register === null ? [] : of(register))))) {
          const [isClosed, isSuspended, isOpen, isLive] = by.map((write) => write?.value === true);
          // Its tokens end before it does.
          if (isClosed && isLive && known?.namespaceId === space.id) continue;
          for (const maxTtl of of(space.maxTtl)) {
            const namespace = {
              id: space.id,
              isClosed: isClosed!,
              isSuspended: isSuspended!,
              isOpen: isOpen!,
              maxTtl: maxTtl.value,
            };
            const found = {
              namespace,
              token: known === undefined ? null : { ...known, isLive: isLive! },
              record: record.value,
              isGone,
            };
            yield { found, by: [record, name, maxTtl, ...by.filter((write) => write !== null)] };
          }
        }
      }
    }
  }
}

/** One of each list, in every way; null for an empty one. */
function combinations<T>(lists: readonly (readonly T[])[]): readonly (readonly (T | null)[])[] {
  let all: readonly (readonly (T | null)[])[] = [[]];
  for (const list of lists) {
    const values = list.length === 0 ? [null] : list;
    all = all.flatMap((before) => values.map((value) => [...before, value]));
  }
  return all;
}

function fault(
  { node, key, type, rcode, answers, answeredAt, token }: DnsAnswer,
  reasons: readonly string[],
): ModelError {
  const text = answers[0] === undefined ? rcode : `${answers[0].text} (${answers[0].ttl})`;
  const how = token === null ? 'without a token' : 'with a token';
  return new ModelError(
    `${node} answers ${type} ${key} ${how} at ${answeredAt}: ${text}: ${reasons.join('; ')}`,
  );
}
