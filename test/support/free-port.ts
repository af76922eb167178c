import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 10_000;
/** Below the ports that Linux gives to those who ask for any, unless it was told otherwise. */
const USUAL_END = 32_768;
const TRIES = 200;

/** Ports that were given out in this process. Who got one may not have opened it yet. */
const given = new Set<number>();

/**
 * A port that is free on TCP and UDP. It is none of those that the kernel gives to connections and to listeners without a port, so that
 * nobody gets it before it is opened.
 * @throws Error when none of 200 is free
 */
export async function freePort(): Promise<number> {
  const end = firstEphemeral();
  for (let tries = 0; tries < TRIES; tries++) {
    const port = LOWEST + Math.floor(Math.random() * (end - LOWEST));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`no free port was found between ${LOWEST} and ${end}`);
}

/** First port of the range from which the kernel chooses. */
function firstEphemeral(): number {
  try {
    const first = Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
    // A range that leaves no room below it is shared.
    return first > LOWEST + 2 * TRIES ? first : USUAL_END;
  } catch {
    return USUAL_END;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const socket = createSocket('udp4');
  try {
    const opened = [once(server, 'listening'), once(socket, 'listening')];
    server.listen(port, '0.0.0.0');
    socket.bind(port, '0.0.0.0');
    const results = await Promise.allSettled(opened);
    return results.every(({ status }) => status === 'fulfilled');
  } finally {
    const closed = [server, socket].map((one) => new Promise<void>((done) => one.close(() => done())));
    await Promise.all(closed);
  }
}
