/** Where is my write: the times at which a write was stored, was in the view of each node, and was answered over DNS. */

export interface NodeArrival {
  readonly node: string;
  /** Null: the node does not have it yet. */
  readonly ms: number | null;
  /** The time is the one at which this page saw it: a node of another process tells how far it is every five seconds. */
  readonly isAtMost: boolean;
  readonly late: boolean;
}

/** Milliseconds since the request left. Null: not yet. */
export interface Arrival {
  readonly written: number | null;
  /** Empty while nothing is known of the nodes. */
  readonly inView: readonly NodeArrival[];
  readonly answered: number | null;
  /** Why no more is known: the watch gave up, or the answer was refused. */
  readonly ended: 'done' | 'late' | 'refused' | 'no-dns' | null;
}

/** What the control side knows of a write, as the API says it. */
export interface Views {
  /** Every node that is not late has it. */
  readonly applied: boolean;
  readonly nodes: readonly {
    readonly name: string;
    readonly applied: boolean;
    /** Milliseconds after the write began, by the server's clock; null: not known. */
    readonly ms: number | null;
    readonly late: boolean;
  }[];
}

export interface ArrivalPorts {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Null: the server does not say what its nodes have. `unknown`: the question failed this time. */
  readonly views: () => Promise<Views | 'unknown' | null>;
  /** Whether the answer over DNS shows the write. `unasked`: nobody may ask. */
  readonly answer: () => Promise<'new' | 'old' | 'refused' | 'none' | 'unasked'>;
  readonly show: (arrival: Arrival) => void;
}

const STEP_MS = 15;
const STEPS_BEFORE_PATIENCE = 20;
const PATIENT_STEP_MS = 400;
const GIVE_UP_MS = 20_000;
/** Milliseconds after the first refusal in which a token may still be new to a node. */
const REFUSED_MS = 5000;

/**
 * Watches a write until every node has it and the answer shows it. Shows each step as soon as it is known.
 * @param started when the request left, by the clock of `ports.now`
 * @param written when its answer came
 */
export async function watchArrival(ports: ArrivalPorts, started: number, written: number): Promise<Arrival> {
  const at = (): number => Math.round(ports.now() - started);
  let arrival: Arrival = { written: Math.round(written - started), inView: [], answered: null, ended: null };
  let isInViews = false;
  let isUnasked = false;
  let refusedAt: number | null = null;
  ports.show(arrival);
  for (let steps = 0; ; steps += 1) {
    if (!isInViews) {
      const views = await ports.views();
      const ms = at();
      if (views !== null && views !== 'unknown')
        arrival = { ...arrival, inView: viewsAt(views, arrival, ms) };
      isInViews = views === null || (views !== 'unknown' && views.applied);
    }
    if (arrival.answered === null && !isUnasked) {
      const found = await ports.answer();
      if (found === 'new') arrival = { ...arrival, answered: at() };
      // A new token, or a new namespace, reaches the nodes a moment after the control side. The write before it may have been slow.
      if (found === 'refused') {
        refusedAt ??= at();
        if (at() > refusedAt + REFUSED_MS) return finish('refused');
      }
      if (found === 'none') return finish('no-dns');
      isUnasked = found === 'unasked';
    }
    if (isInViews && (arrival.answered !== null || isUnasked)) return finish('done');
    if (at() > GIVE_UP_MS) return finish('late');
    ports.show(arrival);
    await ports.wait(steps < STEPS_BEFORE_PATIENCE ? STEP_MS : PATIENT_STEP_MS);
  }

  function finish(ended: Arrival['ended']): Arrival {
    const last = { ...arrival, ended };
    ports.show(last);
    return last;
  }
}

/** The figure of the server where it has one; else the time at which this page saw it first. */
function viewsAt({ nodes }: Views, { inView }: Arrival, ms: number): Arrival['inView'] {
  const before = new Map(inView.map((one) => [one.node, one]));
  return nodes.map(({ name, applied, late, ms: known }) => {
    const first = before.get(name);
    if (applied && first !== undefined && first.ms !== null) return { ...first, late };
    return { node: name, ms: applied ? (known ?? ms) : null, isAtMost: applied && known === null, late };
  });
}
