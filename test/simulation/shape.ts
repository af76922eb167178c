import { createRandom } from './random.ts';

/** What there is in one seed, and how much of it happens. */
export interface Shape {
  readonly controls: number;
  readonly nodes: number;
  readonly customers: number;
  /** In which things go wrong. */
  readonly steps: number;
  /** Answers are signed, and validated. */
  readonly isSigned: boolean;
  /** The keys of the zone are rolled: it sleeps and wakes more than others, and costs some twenty times as much. */
  readonly rollsKeys: boolean;
  /** After so many steps everything sleeps until a token is about to end; null: never. */
  readonly sleepsAfter: number | null;
  /** After so many steps a backup is put back; null: where chance says so. */
  readonly restoredAfter: number | null;
  /** After so many steps it is made; null: where chance says so, or at the beginning. */
  readonly backedUpAfter: number | null;
  /** A standby takes the place of the database; null: none does. */
  readonly failsOver: Failover | null;
  /** After so many steps records are replaced again and again while nodes cannot follow; null: never. */
  readonly replacedAfter: number | null;
  /** The operator publishes versions of a dataset. */
  readonly hasDatasets: boolean;
  /** What it publishes goes into a transparency log. */
  readonly isLogged: boolean;
  /** There is an organization of two users. */
  readonly hasTeam: boolean;
  /** One more edge has the store itself, as in a process that is control and edge. */
  readonly hasInnerEdge: boolean;
  /** There is a customer whose namespace keeps history. */
  readonly keepsHistory: boolean;
  /** Programs ask control for feature flags. */
  readonly hasFlags: boolean;
  /** Seconds before each attempt of a delivery. */
  readonly webhookSchedule: readonly number[];
  /** With so few that all end before the seed does: also those that nobody takes. */
  readonly deliveriesEnd: boolean;
  /** Customers delete their accounts. */
  readonly mayLeave: boolean;
  /** Messages of the feed have keys and signatures. */
  readonly isWhole: boolean;
  /** Acknowledgements of usage are lost; at the end of the storm all of them, or all batches, until nodes have started again. */
  readonly losesAcknowledgements: boolean;
}

interface Failover {
  /** After so many steps it gets no commit any more. */
  readonly behindAfter: number;
  readonly after: number;
}

/**
 * Most seeds are small: starts, ends and few steps between them find most faults for the least time. What needs more of everything to meet
 * happens in one seed of so many. Numbers without a common divisor, so that long ones are also without signatures, and so on.
 */
const LONG = { every: 13, at: 4 } as const;
const ROLLING = { every: 150, at: 10 } as const;
const ENDING = { every: 5, at: 2 } as const;
const UNACKNOWLEDGED = { every: 7, at: 3 } as const;
const PUBLISHING = { every: 9, at: 3 } as const;
/** Of the seeds in which something is published. Signers wait for seconds: more steps. */
const LOGGED = { every: 27, at: 12, steps: 15, restored: 0.3 } as const;
const TEAM = { every: 29, at: 5 } as const;
const REPLACING = { every: 12, at: 7 } as const;
const LEAVING = { every: 11, at: 6 } as const;
const KEEPING = { every: 17, at: 8 } as const;
const INNER = { every: 19, at: 1 } as const;
/** What is in the memory of a process has to meet what fails: more steps. */
const FLAGS = { every: 23, at: 7, steps: 12 } as const;
/** Few attempts, soon one after the other. */
const ENDING_DELIVERIES = { every: 8, at: 3, schedule: [0, 1, 2] } as const;
const SCHEDULE = [0, 5, 30, 180, 600];
/** Drawn by itself, so that it meets everything. */
const FAILING_OVER = { stream: 17, part: 0.1 } as const;
const SIGNED = 2;
const WHOLE = 25;

export function shapeOf(seed: number): Shape {
  const random = createRandom(seed, 9);
  const isLong = seed % LONG.every === LONG.at;
  const rollsKeys = seed % ROLLING.every === ROLLING.at;
  const size = isLong
    ? {
        controls: random.pick([1, 2, 2, 3]),
        nodes: random.pick([1, 2, 2, 3]),
        customers: random.chance(0.2) ? 12 : random.between(2, 5),
        steps: random.between(20, 40),
      }
    : {
        controls: random.pick([1, 1, 1, 1, 2]),
        nodes: random.pick([1, 1, 1, 1, 2, 3]),
        customers: random.pick([1, 1, 2, 2, 3]),
        steps: rollsKeys ? ROLLING_STEPS : random.between(3, 9),
      };
  const isLogged = seed % LOGGED.every === LOGGED.at;
  // A log that lost what witnesses have seen: late enough that they have.
  const restoredAfter =
    isLogged && random.chance(LOGGED.restored) ? Math.floor((2 * (size.steps + LOGGED.steps)) / 3) : null;
  const hasFlags = seed % FLAGS.every === FLAGS.at;
  const more = (isLogged ? LOGGED.steps : 0) + (hasFlags ? FLAGS.steps : 0);
  const steps = size.steps + (rollsKeys ? 0 : more);
  const deliveriesEnd = seed % ENDING_DELIVERIES.every === ENDING_DELIVERIES.at;
  return {
    ...size,
    steps,
    isSigned: seed % SIGNED === 0,
    rollsKeys,
    hasDatasets: seed % PUBLISHING.every === PUBLISHING.at,
    isLogged,
    restoredAfter,
    failsOver: failoverOf(seed, steps),
    // In the others the backup is that of an empty log.
    backedUpAfter: restoredAfter !== null && seed % 2 === 1 ? Math.floor(restoredAfter / 2) : null,
    hasTeam: seed % TEAM.every === TEAM.at,
    // Its answers would need the keys of the zone, which nodes show.
    hasInnerEdge: seed % INNER.every === INNER.at && seed % SIGNED !== 0,
    keepsHistory: seed % KEEPING.every === KEEPING.at,
    hasFlags,
    webhookSchedule: deliveriesEnd ? ENDING_DELIVERIES.schedule : SCHEDULE,
    deliveriesEnd,
    mayLeave: seed % LEAVING.every === LEAVING.at,
    isWhole: seed % WHOLE === 0,
    // A seed that rolls keys takes too long to be made short.
    losesAcknowledgements: !rollsKeys && seed % UNACKNOWLEDGED.every === UNACKNOWLEDGED.at,
    // An endpoint that refuses now and then gets one of its many events a minute.
    replacedAfter: seed % REPLACING.every === REPLACING.at && !deliveriesEnd ? size.steps - 1 : null,
    // Late enough that somebody has minted one.
    sleepsAfter: seed % ENDING.every === ENDING.at ? Math.floor(size.steps / 2) : null,
  };
}

function failoverOf(seed: number, steps: number): Failover | null {
  const random = createRandom(seed, FAILING_OVER.stream);
  if (!random.chance(FAILING_OVER.part)) return null;
  const behindAfter = random.between(0, steps - 2);
  // Close in most, so that little else happens between.
  const within = random.chance(0.7) ? Math.min(behindAfter + 3, steps - 1) : steps - 1;
  return { behindAfter, after: random.between(behindAfter + 1, within) };
}

/** It sleeps after each fifth. */
const ROLLING_STEPS = 20;
