export interface PlacesOptions {
  /** Work at once, of all names. */
  readonly all: number;
  /** Of one name: the others have places left. */
  readonly each: number;
}

export interface Places {
  /** @returns null, and does nothing, when there is no place */
  run<T>(name: string, work: () => Promise<T>): Promise<T> | null;
}

/** Bounds work that others ask for. It remembers names only while their work is done. */
export function createPlaces({ all, each }: PlacesOptions): Places {
  const taken = new Map<string, number>();
  let working = 0;

  function leave(name: string): void {
    working--;
    const left = (taken.get(name) ?? 0) - 1;
    if (left > 0) taken.set(name, left);
    else taken.delete(name);
  }

  return {
    run(name, work) {
      const own = taken.get(name) ?? 0;
      if (working >= all || own >= each) return null;
      working++;
      taken.set(name, own + 1);
      return work().finally(() => leave(name));
    },
  };
}
