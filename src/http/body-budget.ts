import { AppError } from '../base/errors.ts';
import type { Timers } from '../base/lifecycle/timers.ts';
import { LIMITS } from '../base/limits.ts';

/** A request body, from the head of its request to the answer. */
export interface HeldBody {
  /** Notes octets that have come. A body that comes too slowly gives way to others when there is no room. */
  received(octets: number): void;
  /** Waits until the body may be worked on; it is read. Rejects with AppError 429. */
  turn(): Promise<void>;
  /** Ends the body's turn and gives its octets back. Safe to call twice. */
  leave(): void;
}

export interface BodyBudget {
  /**
   * Waits, with nothing of the body read, until there is room for it. Returns at once where there is. Rejects with AppError 429.
   * @param person whose body it is: one key for all customers of a user
   * @param octets of the body, at most `LIMITS.bulkBody`
   * @param onDrop called when the body has given way to others. What came of it must be dropped
   */
  enter(person: string, octets: number, onDrop: (error: AppError) => void): HeldBody | Promise<HeldBody>;
  /** Notes octets of a refused body, which the server reads and discards. */
  discarded(octets: number): void;
}

/**
 * Frees memory. `young`: what has come in since the last call and is garbage by now. `all`: takes longer, and gives memory back to
 * the system.
 */
export type FreeMemory = (what: 'young' | 'all') => void;

interface BodyBudgetOptions {
  readonly timers: Timers;
  readonly freeMemory?: FreeMemory;
}

/** Milliseconds between two looks at the progress of bodies, while others wait for their room. */
const LOOK_MS = 1000;
/** Looks that a body waits before others give way to it. */
const LOOKS = 2;
/** Milliseconds in which a body must come: `requestTimeout` of the server. */
const BODY_MS = 30_000;
/**
 * Octets after which garbage of bodies is collected. Each piece of 64 KiB has a small object in the heap, which V8 looks at: it would
 * keep 100 MB of them, and nothing would free these while the process is idle. A young collection takes 0.3 ms.
 */
const YOUNG_OCTETS = 8_388_608;
const REST_OCTETS = 16_777_216;
/** Milliseconds without a body before a whole collection. */
const REST_MS = 5000;

interface Person {
  octets: number;
  working: number;
  waiting: number;
}

/** `waiting`: unread. `read`: whole, and waits for its turn. */
type State = 'waiting' | 'reading' | 'read' | 'working' | 'over';

interface Body {
  readonly person: string;
  readonly octets: number;
  /** Null when it is over: tables of a Set that V8 has replaced keep their entries until a whole collection, and with them the request. */
  onDrop: ((error: AppError) => void) | null;
  state: State;
  came: number;
  /** `came` at the last look; null: there was none since the body began to be read. */
  cameBefore: number | null;
  /** Looks that it has waited. */
  looks: number;
  /** Ends the wait. */
  settle: ((error: AppError | null) => void) | null;
}

/**
 * Bounds the octets of bodies that one process holds, and how many bulk writes are at work: for a person, who may have several
 * customers, and for all. Bodies wait in the order in which they came; one that has no room does not hold up others that have.
 */
export function createBodyBudget({ timers, freeMemory = () => {} }: BodyBudgetOptions): BodyBudget {
  const persons = new Map<string, Person>();
  const waiting = new Set<Body>();
  const reading = new Set<Body>();
  let octets = 0;
  let working = 0;
  let isLooking = false;
  let young = 0;
  let spent = 0;
  let isResting = false;

  function personOf(key: string): Person {
    const known = persons.get(key);
    if (known !== undefined) return known;
    const made: Person = { octets: 0, working: 0, waiting: 0 };
    persons.set(key, made);
    return made;
  }

  function fitsPerson(body: Body): boolean {
    return personOf(body.person).octets + body.octets <= LIMITS.bodyOctetsPerPerson;
  }

  function mayBegin(body: Body): boolean {
    if (body.state === 'read')
      return working < LIMITS.bulks && personOf(body.person).working < LIMITS.bulksPerPerson;
    return octets + body.octets <= LIMITS.bodyOctets && fitsPerson(body);
  }

  function begin(body: Body): void {
    const person = personOf(body.person);
    if (body.state === 'read') {
      body.state = 'working';
      working++;
      person.working++;
      return;
    }
    body.state = 'reading';
    reading.add(body);
    octets += body.octets;
    person.octets += body.octets;
  }

  /** Lets bodies begin that may, in their order. */
  function advance(): void {
    for (const body of waiting) {
      if (!mayBegin(body)) continue;
      begin(body);
      body.settle?.(null);
    }
  }

  function wait(body: Body): Promise<void> {
    const person = personOf(body.person);
    if (person.waiting >= LIMITS.bodiesWaiting) {
      release(body);
      return Promise.reject(tooMany());
    }
    person.waiting++;
    waiting.add(body);
    if (body.state === 'waiting') lookLater();
    return new Promise((resolve, reject) => {
      const cancel = timers.after(LIMITS.bodyWaitMs, () => {
        body.settle?.(tooMany());
        release(body);
      });
      body.settle = (error) => {
        body.settle = null;
        cancel();
        waiting.delete(body);
        person.waiting--;
        if (error === null) resolve();
        else reject(error);
      };
    });
  }

  function release(body: Body): void {
    const { state } = body;
    if (state === 'over') return;
    body.state = 'over';
    body.onDrop = null;
    body.settle?.(tooMany());
    const person = personOf(body.person);
    reading.delete(body);
    if (state === 'working') {
      working--;
      person.working--;
    }
    if (state !== 'waiting') {
      octets -= body.octets;
      person.octets -= body.octets;
    }
    if (person.octets === 0 && person.waiting === 0) persons.delete(body.person);
    advance();
  }

  function spend(count: number): void {
    young += count;
    spent += count;
    if (young >= YOUNG_OCTETS) {
      young = 0;
      freeMemory('young');
    }
    if (spent >= REST_OCTETS && !isResting) rest();
  }

  function rest(): void {
    const before = spent;
    isResting = true;
    timers.after(REST_MS, () => {
      if (spent !== before) {
        rest();
        return;
      }
      isResting = false;
      spent = 0;
      freeMemory('all');
    });
  }

  function lookLater(): void {
    if (isLooking) return;
    isLooking = true;
    timers.after(LOOK_MS, look);
  }

  /** Without it a few persons, whose bodies never end, would take all the room. */
  function look(): void {
    isLooking = false;
    for (const body of [...waiting]) {
      if (body.state !== 'waiting' || !fitsPerson(body)) continue;
      if (++body.looks >= LOOKS) makeRoom(body);
    }
    for (const body of reading) body.cameBefore = body.came;
    if ([...waiting].some(({ state }) => state === 'waiting')) lookLater();
  }

  /** Drops the slowest bodies of persons who hold no less than this body's person would. */
  function makeRoom(body: Body): void {
    const own = personOf(body.person).octets + body.octets;
    while (body.state === 'waiting') {
      const slow = [...reading].filter(
        (one) => one.person !== body.person && personOf(one.person).octets >= own && isSlow(one),
      );
      if (slow.length === 0) return;
      const slowest = slow.reduce((least, one) => (progressOf(one) < progressOf(least) ? one : least));
      const { onDrop } = slowest;
      release(slowest);
      onDrop?.(tooMany());
    }
  }

  return {
    enter(key, length, onDrop) {
      const body: Body = {
        person: key,
        octets: length,
        onDrop,
        state: 'waiting',
        came: 0,
        cameBefore: null,
        looks: 0,
        settle: null,
      };
      const held: HeldBody = {
        received(count) {
          body.came += count;
          spend(count);
        },
        async turn() {
          if (body.state !== 'reading') throw tooMany();
          body.state = 'read';
          reading.delete(body);
          if (mayBegin(body)) begin(body);
          else await wait(body);
        },
        leave: () => release(body),
      };
      if (!mayBegin(body)) return wait(body).then(() => held);
      begin(body);
      return held;
    },
    discarded: spend,
  };
}

/** Octets since the last look. */
function progressOf({ came, cameBefore }: Body): number {
  return came - (cameBefore ?? came);
}

/** At its present pace it would not end before the server closes its connection. */
function isSlow(body: Body): boolean {
  return body.cameBefore !== null && progressOf(body) < (body.octets * LOOK_MS) / BODY_MS;
}

function tooMany(): AppError {
  const retryAfter = LIMITS.bodyWaitMs / 1000;
  return new AppError('rate_limit_exceeded', 'Too many bodies are being read', { retryAfter });
}
