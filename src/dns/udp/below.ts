import { constants } from 'node:os';
import { type Backoff, backoffMs } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { XDP_MODES, type XdpChange, type XdpFault, type XdpMode } from '../../base/network/transport.ts';

/** Reception below the sockets (docs/adr/18-below-the-sockets.md): where it is wanted, and who is told. */
export interface BelowOptions {
  /** Interfaces, each asked for the same queue. */
  readonly interfaces: readonly string[];
  /** From 0: that of this thread. */
  readonly queue: number;
  readonly mode: XdpMode;
  /** Path of the loader's Unix socket. */
  readonly loader: string;
  /** Called with the number of requests of each batch that came this way. */
  readonly onRequests: (count: number) => void;
  /** Called when one of the queues is attached or detached, and when why it is not attached has changed. */
  readonly onChange: (change: XdpChange) => void;
}

/**
 * Asks the loader once.
 * @param onState gets the number of a mode when requests begin to come; 0 or a negative system error number when none comes any more, and nothing after that
 * @returns 0, or a negative system error number: `onState` is not called
 */
type Attach = (interfaceName: string, onState: (state: number) => void) => number;

/** The socket serves meanwhile, so nobody waits for this. */
const RETRY: Backoff = { firstMs: 250, capMs: 60_000 };

/** Keeps asking for every interface, after each refusal and each end. @returns stops asking; what is attached ends with the endpoint */
export function keepAttached(
  options: BelowOptions,
  attach: Attach,
  timers: Timers = backgroundTimers,
): () => void {
  const stops = options.interfaces.map((name, index) =>
    keepOne(
      (change) => options.onChange({ at: index + 1, ...change }),
      (onState) => attach(name, onState),
      timers,
    ),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

type OwnChange =
  | { readonly type: 'attached'; readonly mode: 'native' | 'generic' }
  | { readonly type: 'refused' | 'detached'; readonly reason: XdpFault };

function keepOne(
  onChange: (change: OwnChange) => void,
  attach: (onState: (state: number) => void) => number,
  timers: Timers,
): () => void {
  let cancel = (): void => {};
  let failures = 0;
  let isAttached = false;
  let isStopped = false;
  let reported: XdpFault | null = null;

  function ask(): void {
    const error = attach(onState);
    if (error !== 0) onState(error);
  }

  function onState(state: number): void {
    if (isStopped) return;
    if (state > 0) {
      isAttached = true;
      failures = 0;
      reported = null;
      onChange({ type: 'attached', mode: XDP_MODES[state] === 'native' ? 'native' : 'generic' });
      return;
    }
    const reason = faultOf(state);
    if (isAttached) onChange({ type: 'detached', reason });
    else if (reason !== reported) onChange({ type: 'refused', reason });
    isAttached = false;
    reported = reason;
    failures++;
    cancel = timers.after(backoffMs(failures, RETRY), ask);
  }

  ask();
  return () => {
    isStopped = true;
    cancel();
  };
}

const { errno } = constants;
/** By system error: those of connecting, of the loader (native/xdp-loader.c) and of binding the socket. */
const FAULTS: ReadonlyMap<number, XdpFault> = new Map([
  [errno.ENOENT, 'no_loader'],
  [errno.ECONNREFUSED, 'no_loader'],
  [errno.EACCES, 'not_allowed'],
  [errno.EPERM, 'no_permission'],
  [errno.ENODEV, 'no_interface'],
  [errno.EINVAL, 'no_queue'],
  [errno.EBUSY, 'busy'],
  [errno.EADDRINUSE, 'vlan'],
  [errno.EMSGSIZE, 'small_mtu'],
  [errno.ENOBUFS, 'locked_memory'],
  [errno.EOPNOTSUPP, 'not_supported'],
  [errno.EAFNOSUPPORT, 'not_supported'],
  [errno.ENETDOWN, 'interface_down'],
]);

/** @param state 0: the loader hung up; else a negative system error number */
function faultOf(state: number): XdpFault {
  return state === 0 ? 'loader_ended' : (FAULTS.get(-state) ?? 'other');
}
