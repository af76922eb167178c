import { MISSES_A_TURN } from './handler.ts';

/** What a connection does in its turn. @returns queries that it answered past the packet cache */
export type Turn = () => number;

/**
 * The turns of the connections of one listener. In a turn of the event loop each due connection has one turn, in the order in which they came to be due,
 * until all together have answered `MISSES_A_TURN` queries past the packet cache. The rest are due in the next one, after sockets were read.
 */
export class StreamTurns {
  /** By insertion: the first is next. */
  readonly #due = new Set<Turn>();
  #scheduled = false;
  readonly #run = (): void => {
    this.#scheduled = false;
    let left = MISSES_A_TURN;
    let connections = this.#due.size;
    for (const turn of this.#due) {
      if (connections === 0 || left <= 0) break;
      connections--;
      this.#due.delete(turn);
      left -= turn();
    }
    this.#schedule();
  };

  /** Does nothing if the connection is due already. */
  add(turn: Turn): void {
    this.#due.add(turn);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#due.size === 0) return;
    this.#scheduled = true;
    setImmediate(this.#run);
  }
}
