/** Listeners that are told of commits. One that throws is not heard of: a wake-up is only a hint. */
export class CommitSignal {
  readonly #listeners = new Set<() => void>();
  readonly #watch: () => () => void;
  #unwatch: (() => void) | null = null;

  /** @param watch begins to look for commits of other processes, while anybody listens; returns the way to stop */
  constructor(watch: () => () => void) {
    this.#watch = watch;
  }

  listen(listener: () => void): () => void {
    // Its own closure, so that the same function given twice is two listeners.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    this.#unwatch ??= this.#watch();
    return () => {
      this.#listeners.delete(entry);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  fire(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch {
        // The commit is done: nothing that a listener does may look like its failure.
      }
    }
  }

  /** Stops watching other processes. */
  stop(): void {
    this.#unwatch?.();
    this.#unwatch = null;
  }
}
