import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer, isIPv6 } from 'node:net';

export interface PortUse {
  /** Name of the variable that sets it. */
  readonly variable: string;
  readonly host: string;
  readonly port: number;
  readonly protocol: 'udp' | 'tcp';
}

export interface PortFault {
  readonly use: PortUse;
  /** Such as `EADDRINUSE`. */
  readonly code: string;
}

/** The first port in use, or null. Binds without SO_REUSEPORT, which would let two servers share a port. Skips port 0. */
export async function findPortFault(uses: readonly PortUse[]): Promise<PortFault | null> {
  for (const use of uses) {
    if (use.port === 0) continue;
    const code = await (use.protocol === 'udp' ? tryUdp(use) : tryTcp(use));
    if (code !== null) return { use, code };
  }
  return null;
}

/**
 * A port that no socket has, for UDP and TCP. The kernel's own choice for a UDP socket with SO_REUSEPORT may be a port that another server of
 * this user has: then each would get questions of the other. @throws an error with the code of TCP, when the port is not free for both
 */
export async function findFreePort(host: string): Promise<number> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.bind({ address: host, port: 0, exclusive: true });
  await once(socket, 'listening');
  const { port } = socket.address();
  const code = await tryTcp({ host, port });
  await new Promise<void>((resolve) => socket.close(resolve));
  if (code !== null) throw Object.assign(new Error('the port is free for UDP only'), { code });
  return port;
}

type Place = Pick<PortUse, 'host' | 'port'>;

function tryUdp({ host, port }: Place): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      resolve(error.code ?? 'UNKNOWN');
    });
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve(null)));
  });
}

function tryTcp({ host, port }: Place): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** TCP_LISTEN in /proc/net/tcp (Linux, include/net/tcp_states.h). */
const LISTENING = '0A';

/** The process that holds a port, from /proc. Without root only processes of this user are visible. */
export function findPortHolder(protocol: 'udp' | 'tcp', port: number): number | null {
  const inodes = new Set(
    [protocol, `${protocol}6`].flatMap((table) => socketInodes(textOf(`/proc/net/${table}`), protocol, port)),
  );
  if (inodes.size === 0) return null;
  return (
    namesOf('/proc')
      .map(Number)
      .find((pid) => pid > 0 && holdsOne(pid, inodes)) ?? null
  );
}

/** Socket inodes of `port` in the text of /proc/net/udp or /proc/net/tcp. */
export function socketInodes(text: string, protocol: 'udp' | 'tcp', port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local = '', , state]) => local.endsWith(`:${hex}`) && (protocol === 'udp' || state === LISTENING),
    )
    .map((fields) => fields[9] ?? '')
    .filter((inode) => inode !== '' && inode !== '0');
}

function holdsOne(pid: number, inodes: ReadonlySet<string>): boolean {
  return namesOf(`/proc/${pid}/fd`).some((fd) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? [];
    return inode !== undefined && inodes.has(inode);
  });
}

/** Empty for a process that ended or belongs to another user. */
function namesOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
