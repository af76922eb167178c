import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** A TCP port in front of a PostgreSQL socket. A test can cut it: connections break, and new ones are refused. */
export interface DatabaseRelay {
  readonly url: string;
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Hangs until `cut`: connections stay open, new ones are accepted, and no data passes. */
  hang(): void;
  /** New connections pass again; what hangs goes on to hang. */
  accept(): void;
  /** What hangs passes again, with what has come meanwhile. */
  resume(): void;
  /**
   * Cuts the connection of the next unit that commits: before the server hears of it, or after it has committed and before its answer.
   * Resolves then.
   */
  loseCommit(when: 'before' | 'after'): Promise<void>;
  /** After the next message of a client that has this text, nothing passes on its connection, not even its end. Resolves then. */
  loseAnswer(text: string): Promise<void>;
}

/** How a message of the client ends that commits (a simple query, with or without statements before it). */
const COMMIT = Buffer.from('commit\0');

/** @param url of the test server: its `host` parameter is the directory of the socket */
export async function relayTo(url: string): Promise<DatabaseRelay> {
  const target = new URL(url);
  const path = `${target.searchParams.get('host')}/.s.PGSQL.5432`;
  const open = new Set<Socket>();
  let hangs = false;
  let losingAnswer: { readonly text: string; readonly lost: () => void } | null = null;
  let losing: { readonly when: 'before' | 'after'; readonly lost: () => void } | null = null;
  const make = () =>
    createServer((client) => {
      if (hangs) {
        open.add(client);
        client.on('error', () => {});
        return;
      }
      const server = dial(path);
      pipeBoth(client, server, open, (octets) => {
        if (losingAnswer !== null && octets.includes(losingAnswer.text)) {
          client.removeAllListeners('close');
          server.unpipe(client).resume();
          losingAnswer.lost();
          losingAnswer = null;
          // This message passes; the client's later ones go nowhere.
          setImmediate(() => client.unpipe().resume());
          return true;
        }
        const lose = losing;
        if (lose === null || !octets.subarray(-COMMIT.length).equals(COMMIT)) return true;
        losing = null;
        const end = (): void => {
          client.destroy();
          server.destroy();
          lose.lost();
        };
        if (lose.when === 'before') end();
        else {
          // Its answer comes after the commit, and goes nowhere.
          server.unpipe(client).once('data', end).resume();
        }
        return lose.when === 'after';
      });
    });
  let relay = make();
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const { port } = relay.address() as AddressInfo;
  return {
    url: `postgres://uqrp@127.0.0.1:${port}${target.pathname}`,
    hang() {
      hangs = true;
      for (const socket of open) socket.pause();
    },
    accept() {
      hangs = false;
    },
    resume() {
      hangs = false;
      for (const socket of open) socket.resume();
    },
    loseCommit(when) {
      return new Promise((lost) => {
        losing = { when, lost };
      });
    },
    loseAnswer(text) {
      return new Promise((lost) => {
        losingAnswer = { text, lost };
      });
    },
    async cut() {
      hangs = false;
      relay.close();
      for (const socket of open) socket.destroy();
    },
    async restore() {
      relay = make();
      relay.listen(port, '127.0.0.1');
      await once(relay, 'listening');
    },
  };
}

/**
 * Passes on what each of two connections sends to the other, and ends both with one.
 * @param open has them while they are open. @param passes whether what the client has sent goes on; unless given, all of it does
 */
export function pipeBoth(
  client: Socket,
  server: Socket,
  open: Set<Socket>,
  passes: ((octets: Buffer) => boolean) | null = null,
): void {
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    open.add(one);
    one.on('error', () => {});
    one.on('close', () => {
      open.delete(one);
      other.destroy();
    });
    if (one === client && passes !== null) {
      const filter = new Transform({
        transform: (octets: Buffer, _, done) => done(null, passes(octets) ? octets : undefined),
      });
      one.pipe(filter).pipe(other);
    } else one.pipe(other);
  }
}
