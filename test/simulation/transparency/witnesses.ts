/**
 * Three witnesses of the transparency log, of which two are a quorum. They are others: no fault of the registry touches what they remember. They
 * are away at times, and what they answer is lost.
 */
import type { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import type { OutboundRequest, OutboundResult } from '../../../src/outbound/request.ts';
import { parseCheckpoint } from '../../../src/protocol/transparency/checkpoint.ts';
import type { VerifierKey } from '../../../src/protocol/transparency/note.ts';
import type { TrustPolicy } from '../../../src/protocol/transparency/policy.ts';
import { sameOctets } from '../../../src/protocol/transparency/tree.ts';
import { MemoryWitness, policyOf } from '../../support/control/transparency/witness.ts';
import { keyOf } from '../../support/protocol/transparency/small-log.ts';
import type { Common, ProcessPorts } from '../common.ts';
import { InvariantError } from '../invariants.ts';
import type { Random } from '../random.ts';

export interface LogWitnesses {
  readonly policy: TrustPolicy;
  trust(log: VerifierKey): void;
  /** Something begins to be wrong with one of them, or ends. */
  perhaps(random: Random): void;
  /** All of them answer. */
  mend(): void;
  /** How a process asks them. */
  clientOf(ports: Pick<ProcessPorts, 'timers' | 'chance'>): OutboundClient;
  /** Entries of the largest tree that any of them holds. */
  largest(): number;
}

interface WitnessesOptions extends Pick<Common, 'scheduler' | 'counters' | 'trace'> {
  /** The epoch of the database: it is another one once a backup was put back. */
  readonly epoch: () => string;
  readonly wrong: (error: unknown) => void;
}

/** `mute`: it cosigns, and its answer is lost. */
type Fault = 'away' | 'mute';

const NAMES = ['w1', 'w2', 'w3'];
const QUORUM = 2;
const KEYS = new Map(NAMES.map((name) => [name, keyOf(name)]));
/** In so many steps of a storm something changes. */
const CHANGES = 0.3;
/** Of a request or an answer on its way. */
const WAY_MS = 40;
/** Until an attempt is given up. */
const DEADLINE_MS = 10_000;
const AWAY: OutboundResult = { kind: 'failed', fault: 'timeout' };

export function createWitnesses({
  scheduler,
  counters,
  trace,
  epoch,
  wrong,
}: WitnessesOptions): LogWitnesses {
  const faults = new Map<MemoryWitness, Fault>();
  const witnesses = NAMES.map((name) => new MemoryWitness(name, null, KEYS.get(name)!));
  for (const witness of witnesses) {
    witness.onAsked = () => {
      witness.time = Math.floor(scheduler.now() / 1000);
    };
  }
  /** Every tree that a witness was shown, by its size: with the signature of the log. */
  const signed = new Map<number, { readonly root: Uint8Array; readonly epoch: string }>();

  /** What the log has signed once it never signs differently; but where it forgot it with its database, before a quorum had seen it. */
  function checkSigned(request: OutboundRequest, sentIn: string): void {
    const text = Buffer.from(request.body ?? []).toString('utf8');
    const shown = parseCheckpoint(text.slice(text.indexOf('\n\n') + 2));
    if (shown === null) throw new InvariantError('a witness was sent no checkpoint');
    const { size, root } = shown;
    const before = signed.get(size);
    const isSame = before !== undefined && sameOctets(before.root, root);
    if (before !== undefined && !isSame) {
      const saw = witnesses.filter(({ cosigned }) => isAt(cosigned.get(size), before.root));
      if (before.epoch === sentIn || saw.length >= QUORUM)
        throw new InvariantError(`the log signed two histories of ${size} entries`);
      counters.count('log forgot what it signed');
    }
    if (!isSame) signed.set(size, { root, epoch: sentIn });
  }

  async function arrive(
    witness: MemoryWitness,
    request: OutboundRequest,
    sentIn: string,
  ): Promise<OutboundResult> {
    checkSigned(request, sentIn);
    const answer = await witness.answer(request);
    counters.count(`witness ${answer.kind === 'response' ? answer.status : answer.fault}`);
    return answer;
  }

  return {
    policy: policyOf(witnesses, QUORUM),
    trust(log) {
      for (const witness of witnesses) witness.log = log;
    },
    perhaps(random) {
      if (!random.chance(CHANGES)) return;
      const witness = random.pick(witnesses);
      const fault = random.pick<Fault | null>(['away', 'mute', null, null]);
      if (fault === null) faults.delete(witness);
      else faults.set(witness, fault);
      trace(`witness ${witness.name}: ${fault ?? 'answers'}`);
    },
    mend: () => faults.clear(),
    clientOf: (ports) => (request) => {
      const witness = witnesses.find(({ url }) => url === request.url.origin);
      if (witness === undefined) throw new InvariantError(`no witness has the URL ${request.url.href}`);
      const there = Math.ceil(ports.chance() * WAY_MS);
      const back = there + Math.ceil(ports.chance() * WAY_MS);
      let answer: OutboundResult = AWAY;
      const sentIn = epoch();
      // It is on its way, also where its process dies meanwhile.
      scheduler.after(there, () => {
        if (faults.get(witness) === 'away') return;
        const isMute = faults.get(witness) === 'mute';
        arrive(witness, request, sentIn).then((given) => {
          if (!isMute) answer = given;
        }, wrong);
      });
      return new Promise((resolve) => {
        ports.timers.after(back, () => {
          if (answer !== AWAY) resolve(answer);
          else ports.timers.after(DEADLINE_MS - back, () => resolve(AWAY));
        });
      });
    },
    largest: () => Math.max(...witnesses.map(({ size }) => size)),
  };
}

function isAt(known: Uint8Array | undefined, root: Uint8Array): boolean {
  return known !== undefined && sameOctets(known, root);
}
