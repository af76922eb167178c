/** The node's end of a long line: a process in a network namespace of its own, which starts the node, asks it, and tells when it answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createUdpAsker, type UdpAsker } from '../../feed/udp-asker.ts';
import { startUqrp, type Uqrp } from '../../server-process.ts';

/** `until` has the payload that the node must give; null: it must refuse. */
export type FarOrder =
  | { readonly do: 'start'; readonly env: NodeJS.ProcessEnv; readonly dataDir: string }
  | { readonly do: 'stop' }
  | { readonly do: 'until'; readonly name: string; readonly payload: string | null }
  | { readonly do: 'readyz' };

export type FarRequest = FarOrder & { readonly id: number };

/** `at`: when it was done, milliseconds since the epoch on a clock that nobody sets. */
export interface FarReply {
  readonly id: number;
  readonly at: number;
  readonly error: string | null;
  readonly value?: unknown;
}

export const wallClock = (): number => performance.timeOrigin + performance.now();

const STEP_MS = 4;
const PATIENCE_MS = 120_000;

let node: Uqrp | null = null;
let asker: UdpAsker | null = null;

async function carryOut(order: FarOrder): Promise<unknown> {
  if (order.do === 'start') {
    node = await startUqrp(order.env, order.dataDir);
    node.child.stdout?.resume();
    node.child.stderr?.resume();
    asker = createUdpAsker(node.ports.dns);
  } else if (order.do === 'stop') {
    asker?.close();
    await node?.stop();
    node = null;
  } else if (order.do === 'readyz') {
    const reply = await fetch(`http://127.0.0.1:${node!.ports.http}/readyz`);
    return reply.json();
  } else await until(order.name, order.payload);
  return null;
}

async function until(name: string, payload: string | null): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    const answer = await asker!.ask(name);
    const isRight = payload === null ? answer?.rcode === 'REFUSED' : answer?.payload === payload;
    if (isRight) return;
    await sleep(STEP_MS);
  }
  throw new Error(`${name}: not right within ${PATIENCE_MS / 1000} s`);
}

async function answer(request: FarRequest): Promise<void> {
  const reply = { id: request.id, error: null };
  try {
    const value = await carryOut(request);
    process.send?.({ ...reply, at: wallClock(), value } satisfies FarReply);
  } catch (error) {
    process.send?.({ ...reply, at: wallClock(), error: String(error) } satisfies FarReply);
  }
}

if (process.send !== undefined && import.meta.main) {
  process.on('message', (request: FarRequest) => void answer(request));
  // Its parent ended.
  process.once('disconnect', () => {
    node?.child.kill('SIGKILL');
    process.exit();
  });
  process.send({ id: 0, at: wallClock(), error: null } satisfies FarReply);
}
