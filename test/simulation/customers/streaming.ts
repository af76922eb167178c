import type { ChangesCheck } from '../model/changes.ts';
import { ModelError } from '../model/told.ts';
import type { Clients } from './clients.ts';
import type { Customer, Follower } from './customer.ts';

interface Streaming {
  /**
   * A reader follows by `GET /changes/stream`, from its cursor, until the promise settles or the stream ends.
   * @param idleMs it reads nothing for so long
   * @param onKey a record changed
   * @returns whether it was open until then
   * @throws ModelError
   */
  until(
    end: Promise<unknown>,
    customer: Customer,
    follower: Follower,
    idleMs: number,
    onKey?: (key: string) => void,
  ): Promise<boolean>;
}

/** A server-sent event. Each member is null where the event has none, `data` is empty. */
export interface StreamEvent {
  readonly event: string | null;
  readonly id: string | null;
  readonly data: string;
}

export function createStreaming(clients: Clients, changes: ChangesCheck): Streaming {
  /** @returns whether it can be followed further */
  function take(
    follower: Follower,
    { event, id, data }: StreamEvent,
    asked: number,
    onKey: (key: string) => void,
  ): boolean {
    // How long to wait before the next connection.
    if (id === null) return true;
    follower.cursor = id;
    const { reader } = follower;
    if (event === 'reset') return false;
    // A place on the way, each 15 seconds: a client that is far behind has not got everything yet.
    if (event === 'checkpoint') return true;
    const change = JSON.parse(data);
    changes.page(reader, [change], asked, false);
    onKey(change.key);
    return true;
  }

  return {
    async until(end, customer, follower, idleMs, onKey = () => {}) {
      const { readers, token } = customer;
      const ended = Promise.withResolvers<void>();
      const isOver = ended.promise.then(() => false);
      // What it throws is thrown below, where it is awaited.
      isOver.catch(() => {});
      const asked = clients.event();
      let text = '';
      let isOpen = true;
      const onText = (next: string | null): void => {
        if (next === null) ended.resolve();
        if (next === null || !isOpen) return;
        clients.event();
        const events = (text + next).split('\n\n');
        text = events.pop()!;
        try {
          for (const event of events.map(eventOf)) {
            if (event.id !== null && event.data === '')
              throw new ModelError('an event of /changes/stream without data');
            if (!isOpen) return;
            isOpen = take(follower, event, asked, onKey);
          }
          if (!isOpen) throw new Reset();
        } catch (error) {
          ended.reject(error as Error);
        }
      };
      follower.isWaiting = true;
      const path = `/changes/stream?since=${follower.cursor}`;
      try {
        const opened = await clients.stream(path, token, onText);
        if (opened === null) return false;
        if (opened.status === 410) throw new Reset();
        if (opened.status === 200 && idleMs > 0) {
          opened.pause();
          await clients.pause(idleMs);
          opened.resume();
        }
        const wasOpen = await Promise.race([isOver, end.then(() => true)]);
        opened.close();
        return wasOpen && opened.status === 200;
      } catch (error) {
        if (!(error instanceof Reset)) throw error;
        const at = readers.indexOf(follower);
        if (at >= 0) readers.splice(at, 1);
        return false;
      } finally {
        isOpen = false;
        follower.isWaiting = false;
      }
    },
  };
}

/** The log does not go back so far. */
class Reset extends Error {}

export function eventOf(text: string): StreamEvent {
  const field = (name: string): string | null =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2) ?? null;
  return { event: field('event'), id: field('id'), data: field('data') ?? '' };
}
