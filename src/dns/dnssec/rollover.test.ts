import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readRrsig, txt } from '../../../test/support/dns/dnssec/keys.ts';
import {
  generateKey,
  generateKeySet,
  type KeyRole,
  type KeySet,
  keySetData,
  keysAtParent,
  readKeySet,
} from './key-set.ts';
import {
  type AdvanceOptions,
  advance,
  type Confirmation,
  listKeys,
  nextStep,
  ROLLOVER_TIMES,
  type RolloverTimes,
  type StepName,
} from './rollover.ts';
import { makeSigner, type SigningMode } from './signer.ts';

const START = Date.UTC(2026, 0, 1);
const HOUR = 3600;
const DAY = 24 * HOUR;
/** How often an operator in a hurry tries, seconds. */
const EAGER = 900;

interface Span {
  readonly from: number;
  /** Infinity while it is the latest. */
  until: number;
}

/** What the zone said in one span of time. Keys are known by their tags. */
interface ZoneSpan extends Span {
  readonly algorithms: ReadonlyMap<number, number>;
  readonly signersOfKeys: readonly number[];
  readonly signersOfData: readonly number[];
}

interface ParentSpan extends Span {
  readonly ds: readonly number[];
}

/**
 * A zone, its parent, and every validator there could be: each holds a DS, a DNSKEY rrset and an rrset of any age that TTLs
 * and late nodes allow. Times are seconds.
 */
class World {
  now = 0;
  keys: KeySet;
  private readonly zone: ZoneSpan[] = [];
  private readonly parent: ParentSpan[] = [];
  private readonly mode: SigningMode;
  private readonly truth: RolloverTimes;

  constructor(mode: SigningMode, truth: RolloverTimes = ROLLOVER_TIMES) {
    this.mode = mode;
    this.truth = truth;
    this.keys = generateKeySet('x.net', START);
    this.serve(this.keys);
    this.takeDs();
  }

  get ms(): number {
    return START + this.now * 1000;
  }

  /** The parent takes over what CDS says. */
  takeDs(): void {
    const ds = keysAtParent(this.keys).map(({ keyTag }) => keyTag);
    if (this.parent.at(-1)?.ds.join() === ds.join()) return;
    this.push(this.parent, { from: this.now, until: Number.POSITIVE_INFINITY, ds });
  }

  /** What an honest operator who looks at the parent can confirm. */
  confirmable(): Confirmation | null {
    const ds = this.parent.at(-1)!.ds;
    const ksks = this.keys.keys.filter(({ role }) => role === 'ksk');
    const added = ksks.some(({ state, keyTag }) => state === 'published' && ds.includes(keyTag));
    if (added) return 'ds-added';
    const gone = ksks.some(({ state, keyTag }) => state === 'withdrawn' && !ds.includes(keyTag));
    return gone ? 'ds-removed' : null;
  }

  advance(role: KeyRole, times: RolloverTimes, anew = false): StepName | null {
    const { keys, outcome } = advance(this.keys, role, {
      ...options(this.ms, times, this.confirmable()),
      anew,
    });
    assert.equal(keys === this.keys, outcome.kind !== 'advanced');
    if (keys !== this.keys) this.serve(keys);
    return outcome.kind === 'advanced' ? outcome.step : null;
  }

  /** The first thing that some validator would call bogus now, or null. */
  bogus(): string | null {
    const { dnskeyTtl, maxTtl, parentDsTtl, propagation } = this.truth;
    const dataSpans = this.held(this.zone, maxTtl + propagation);
    for (const keys of this.held(this.zone, dnskeyTtl + propagation)) {
      for (const { ds } of this.held(this.parent, parentDsTtl)) {
        if (!ds.some((tag) => keys.algorithms.has(tag) && keys.signersOfKeys.includes(tag))) return 'DNSKEY';
      }
      if (dataSpans.some(({ signersOfData }) => !this.accepts(keys.algorithms, signersOfData))) return 'data';
    }
    return null;
  }

  /** In full mode one signature of every algorithm (RFC 4035 §2.2), else one. */
  private accepts(algorithms: ReadonlyMap<number, number>, signers: readonly number[]): boolean {
    const good = new Set(signers.flatMap((tag) => algorithms.get(tag) ?? []));
    return good.size >= (this.mode === 'full' ? new Set(algorithms.values()).size : 1);
  }

  private serve(keys: KeySet): void {
    this.keys = readKeySet(keySetData(keys));
    const signer = makeSigner({ keys: this.keys, mode: this.mode, clock: () => this.ms });
    const tags = (rrset: Parameters<typeof signer.sign>[0]): number[] =>
      signer.sign(rrset).rrsigs.map((rrsig) => readRrsig(rrsig).keyTag);
    this.push(this.zone, {
      from: this.now,
      until: Number.POSITIVE_INFINITY,
      algorithms: new Map(this.keys.keys.map(({ keyTag, algorithm }) => [keyTag, algorithm])),
      signersOfKeys: tags(signer.dnskey),
      signersOfData: tags(txt('a.x.net', 60, 'x')),
    });
  }

  private push<T extends Span>(spans: T[], span: T): void {
    const last = spans.at(-1);
    if (last !== undefined) last.until = this.now;
    spans.push(span);
  }

  private held<T extends Span>(spans: readonly T[], age: number): T[] {
    return spans.filter(({ until }) => until + age > this.now);
  }
}

function options(now: number, times: RolloverTimes, confirmed: Confirmation | null): AdvanceOptions {
  return {
    now,
    times,
    confirmed,
    generate: (role, taken) => generateKey(role, 'published', now, taken),
  };
}

/** Tries every quarter of an hour until the rollover is complete; the first bogus answer on the way, or null. */
function hurry(
  role: KeyRole,
  mode: SigningMode,
  times: RolloverTimes,
  truth = ROLLOVER_TIMES,
): string | null {
  const world = new World(mode, truth);
  for (let done = false; !done; world.now += EAGER) {
    world.takeDs();
    done = world.advance(role, times) === 'remove';
    const found = world.bogus();
    if (found !== null) return found;
    assert.ok(world.now < 60 * DAY, 'a rollover ends');
  }
  return null;
}

test('the timelines', () => {
  const { dnskeyTtl, maxTtl, parentDsTtl, propagation } = ROLLOVER_TIMES;
  const known = dnskeyTtl + propagation;
  const forgotten = maxTtl + propagation;
  const cases: [KeyRole, [StepName, number][]][] = [
    [
      'zsk',
      [
        ['publish', 0],
        ['switch', known],
        ['remove', known + forgotten],
      ],
    ],
    [
      'ksk',
      [
        ['publish', 0],
        ['ds-added', EAGER],
        ['switch', EAGER + parentDsTtl],
        ['withdraw', EAGER + parentDsTtl + known],
        ['remove', EAGER + parentDsTtl + known + forgotten],
      ],
    ],
  ];
  for (const [role, expected] of cases) {
    const world = new World('full');
    const before = world.keys;
    const steps: [StepName, number][] = [];
    for (; steps.at(-1)?.[0] !== 'remove'; world.now += EAGER) {
      world.takeDs();
      const step = world.advance(role, ROLLOVER_TIMES);
      if (step !== null) steps.push([step, world.now]);
    }
    assert.deepEqual(steps, expected, role);
    const states = world.keys.keys.map((key) => [key.role, key.state] as const);
    assert.deepEqual(
      new Map(states),
      new Map([
        ['ksk', 'active'],
        ['zsk', 'active'],
      ]),
    );
    assert.equal(states.length, 2);
    const kept = world.keys.keys.filter((key) => before.keys.some(({ keyTag }) => keyTag === key.keyTag));
    assert.deepEqual(
      kept.map((key) => key.role),
      [role === 'ksk' ? 'zsk' : 'ksk'],
    );
    assert.equal(nextStep(world.keys, role, ROLLOVER_TIMES), null);
  }
});

test('an operator who repeats every step early makes no answer bogus', () => {
  for (const role of ['zsk', 'ksk'] as const) {
    for (const mode of ['full', 'split'] as const) assert.equal(hurry(role, mode, ROLLOVER_TIMES), null);
  }
});

test('every wait is needed: the model notices when one is too short', () => {
  // The old KSK's last wait begins with its withdrawal, so it is longer than it has to be by the wait before that.
  const slack = ROLLOVER_TIMES.dnskeyTtl + ROLLOVER_TIMES.propagation;
  const cases: [KeyRole, SigningMode, keyof RolloverTimes, string, number][] = [
    ['zsk', 'full', 'dnskeyTtl', 'data', 0],
    ['zsk', 'full', 'maxTtl', 'data', 0],
    ['zsk', 'full', 'propagation', 'data', 0],
    ['zsk', 'split', 'dnskeyTtl', 'data', 0],
    ['zsk', 'split', 'maxTtl', 'data', 0],
    ['ksk', 'full', 'maxTtl', 'data', slack],
    ['ksk', 'full', 'parentDsTtl', 'DNSKEY', 0],
    // The parent looks at CDS one try after the withdrawal.
    ['ksk', 'full', 'dnskeyTtl', 'DNSKEY', EAGER],
    ['ksk', 'split', 'parentDsTtl', 'DNSKEY', 0],
  ];
  for (const [role, mode, time, expected, spare] of cases) {
    const short = { ...ROLLOVER_TIMES, [time]: ROLLOVER_TIMES[time] - spare };
    assert.equal(hurry(role, mode, short), null, `${role} ${mode} ${time}, just long enough`);
    // One try earlier.
    const shorter = { ...short, [time]: short[time] - EAGER };
    assert.equal(hurry(role, mode, shorter), expected, `${role} ${mode} ${time}, too short`);
  }
  // A DS that lives shorter than the DNSKEY rrset: then the latter's wait is the one that holds.
  const truth = { ...ROLLOVER_TIMES, parentDsTtl: EAGER };
  assert.equal(hurry('ksk', 'full', truth, truth), null);
  assert.equal(hurry('ksk', 'full', { ...truth, dnskeyTtl: HOUR - EAGER }, truth), 'data');
});

test('two rollovers at any pace, with a parent of any delay, make no answer bogus', () => {
  const event = fc.record({
    delay: fc.oneof(fc.integer({ min: 0, max: 4 * HOUR }), fc.integer({ min: 0, max: 10 * DAY })),
    act: fc.constantFrom('zsk', 'ksk', 'ksk', 'parent' as const),
    anew: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.constantFrom('full', 'split'), fc.array(event, { maxLength: 60 }), (mode, events) => {
      const world = new World(mode);
      for (const { delay, act, anew } of events) {
        world.now += delay;
        if (act === 'parent') world.takeDs();
        else world.advance(act, ROLLOVER_TIMES, anew);
        assert.equal(world.bogus(), null);
      }
    }),
    { numRuns: 150 },
  );
});

test('a call that is too early, or without confirmation of the parent, changes nothing', () => {
  const begun = advance(generateKeySet('x.net', START), 'ksk', options(START, ROLLOVER_TIMES, null)).keys;
  const fresh = begun.keys.at(-1)!;
  const at = (now: number, confirmed: Confirmation | null, keys = begun) =>
    advance(keys, 'ksk', options(now, ROLLOVER_TIMES, confirmed));
  for (const confirmed of [null, 'ds-removed'] as const) {
    const { keys, outcome } = at(START + 30 * DAY * 1000, confirmed);
    assert.equal(keys, begun);
    assert.deepEqual(outcome, {
      kind: 'confirm',
      next: { step: 'ds-added', keyTag: fresh.keyTag, at: START, confirm: 'ds-added' },
    });
  }
  const seen = at(START + 1000, 'ds-added');
  const switchAt = START + 1000 + ROLLOVER_TIMES.parentDsTtl * 1000;
  const next = { step: 'switch', keyTag: fresh.keyTag, at: switchAt, confirm: null };
  assert.deepEqual(seen.outcome, { kind: 'advanced', step: 'ds-added', keyTag: fresh.keyTag, next });
  for (const now of [START + 1000, switchAt - 1]) {
    const { keys, outcome } = at(now, 'ds-added', seen.keys);
    assert.deepEqual([keys === seen.keys, outcome], [true, { kind: 'wait', next }]);
  }
  assert.equal(at(switchAt, null, seen.keys).outcome.kind, 'advanced');
});

test('a key that somebody else has and that does not sign yet is replaced, and never signs', () => {
  for (const role of ['zsk', 'ksk'] as const) {
    const world = new World('full');
    assert.equal(world.advance(role, ROLLOVER_TIMES), 'publish');
    const stolen = new Set(world.keys.keys.map(({ keyTag }) => keyTag));
    // The parent may have taken its DS already.
    world.takeDs();
    world.now += HOUR;
    assert.equal(world.advance(role, ROLLOVER_TIMES, true), 'publish');
    for (; world.advance(role, ROLLOVER_TIMES) !== 'remove'; world.now += EAGER) {
      world.takeDs();
      assert.equal(world.bogus(), null);
      const signs = world.keys.keys.find((key) => key.role === role && key.state === 'active')!;
      if (world.keys.keys.some((key) => key.role === role && key.state === 'retired'))
        assert.ok(!stolen.has(signs.keyTag), 'the key that signs is none of those');
    }
    for (const key of world.keys.keys) assert.equal(stolen.has(key.keyTag), key.role !== role);
  }
});

test('a key is made anew only while none of its role is in use that will leave', () => {
  const week = 8 * DAY * 1000;
  const steps: [KeyRole, readonly (Confirmation | null)[], readonly string[]][] = [
    ['zsk', [null, null, null], ['advanced', 'advanced', 'unfinished', 'advanced']],
    [
      'ksk',
      [null, 'ds-added', null, null, 'ds-removed'],
      ['advanced', 'advanced', 'unfinished', 'unfinished', 'unfinished', 'advanced'],
    ],
  ];
  for (const [role, confirmations, expected] of steps) {
    let keys = generateKeySet('x.net', START);
    const found: string[] = [];
    for (const [step, confirmed] of [...confirmations, null].entries()) {
      const now = START + (step + 1) * week;
      const anew = advance(keys, role, { ...options(now, ROLLOVER_TIMES, confirmed), anew: true });
      found.push(anew.outcome.kind);
      assert.equal(anew.keys === keys, anew.outcome.kind !== 'advanced');
      if (anew.outcome.kind === 'advanced') assert.equal(anew.outcome.step, 'publish');
      keys = advance(keys, role, options(now, ROLLOVER_TIMES, confirmed)).keys;
    }
    assert.deepEqual(found, expected, role);
  }
});

test('the listing shows the next step of each key', () => {
  const now = START + DAY * 1000;
  const { keys } = advance(generateKeySet('x.net', START), 'zsk', options(now, ROLLOVER_TIMES, null));
  const rows = listKeys(keys, ROLLOVER_TIMES).map(({ keyTag, next, ...row }) => ({
    ...row,
    next: next === null ? null : [next.step, next.at, next.keyTag === keyTag],
  }));
  const common = { createdAt: START, stateSince: START, next: null };
  assert.deepEqual(rows, [
    { role: 'ksk', algorithm: 'ECDSAP256SHA256', state: 'active', ...common },
    { role: 'zsk', algorithm: 'ED25519', state: 'active', ...common },
    {
      role: 'zsk',
      algorithm: 'ED25519',
      state: 'published',
      createdAt: now,
      stateSince: now,
      next: ['switch', now + 2 * HOUR * 1000, true],
    },
  ]);
});
