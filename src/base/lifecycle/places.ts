/** Places for work that others ask for: so many in all, shared fairly. One mechanism for listings, streams, connections and questions. */

/** The name of who asks, or the names of the groups around it, largest first: a network of providers, and one in it. */
export type Names = string | readonly string[];

export interface Holder {
  /** When it last finished something, or began, milliseconds. Null: the server is at work for it, and it keeps its place. */
  readonly since: () => number | null;
  /** Ends it. Its place is free already. */
  readonly giveWay: () => void;
}

export interface SharedPlace {
  /** Who can say what the place is used for. Null: it is kept. */
  holder: Holder | null;
  /** It counts for others from now on: behind a proxy the client is known later. */
  rename(names: Names): void;
  /** Safe to call twice. */
  leave(): void;
}

export interface PlacesOptions {
  /** Places at once, of all names. */
  readonly all: number;
  /** Of one name: of the smallest group around it. */
  readonly each?: number;
  /** A holder that finished nothing for `ms` is stalled. Default: every holder that is not at work. */
  readonly patience?: { readonly ms: number; readonly clock: () => number };
}

export interface SharedPlaces {
  /** @returns null when there is no place, and nobody has to give way */
  enter(names: Names, holder?: Holder | null): SharedPlace | null;
  /** @returns null, and does nothing, when there is no place */
  run<T>(names: Names, work: () => Promise<T>): Promise<T> | null;
  /** Takes the place of a holder for a newcomer. @returns false: nobody has to give way */
  makeRoom(newcomer: Names): boolean;
  /** Places of one name. */
  of(name: string): number;
}

interface Group {
  readonly name: string;
  size: number;
}

interface Taken extends SharedPlace {
  groups: readonly Group[];
}

/**
 * When all places are taken, the heaviest group gives way first: in it the heaviest smaller group, and in that the holder with the
 * least progress. It gives way to a newcomer that has fewer places by two or more; to others that have no more places only when it is
 * stalled, so that equals do not interrupt each other. It remembers names only while they have places.
 */
export function createPlaces({
  all,
  each = Number.POSITIVE_INFINITY,
  patience,
}: PlacesOptions): SharedPlaces {
  const groups = new Map<string, Group>();
  const taken = new Set<Taken>();
  const sizeOf = (name: string): number => groups.get(name)?.size ?? 0;

  function join(names: Names): readonly Group[] {
    return list(names).map((name) => {
      const group = groups.get(name) ?? { name, size: 0 };
      if (group.size++ === 0) groups.set(name, group);
      return group;
    });
  }

  function part(from: readonly Group[]): void {
    for (const group of from) if (--group.size === 0) groups.delete(group.name);
  }

  function enter(names: Names, holder: Holder | null = null): SharedPlace | null {
    if (sizeOf(list(names).at(-1)!) >= each) return null;
    if (taken.size >= all && !makeRoom(names)) return null;
    const place: Taken = {
      holder,
      groups: join(names),
      rename(others) {
        if (!taken.has(place)) return;
        part(place.groups);
        place.groups = join(others);
      },
      leave() {
        if (taken.delete(place)) part(place.groups);
      },
    };
    taken.add(place);
    return place;
  }

  function makeRoom(newcomer: Names): boolean {
    const path = list(newcomer);
    const own = path.map(sizeOf);
    const stalledBefore = patience === undefined ? Number.POSITIVE_INFINITY : patience.clock() - patience.ms;
    let found: { readonly place: Taken; readonly since: number } | null = null;
    for (const place of taken) {
      // Sizes first: to ask each holder would take most of the time.
      const heavier: number = found === null ? 1 : compareSizes(place.groups, found.place.groups);
      const since: number | null = heavier < 0 ? null : (place.holder?.since() ?? null);
      if (since === null || (heavier === 0 && found !== null && since >= found.since)) continue;
      if (mustGiveWay(place.groups, path, own, since <= stalledBefore)) found = { place, since };
    }
    if (found === null) return false;
    const { holder } = found.place;
    found.place.leave();
    holder?.giveWay();
    return true;
  }

  return {
    enter,
    makeRoom,
    of: sizeOf,
    run(names, work) {
      const place = enter(names);
      return place === null ? null : work().finally(() => place.leave());
    },
  };
}

function list(names: Names): readonly string[] {
  return typeof names === 'string' ? [names] : names;
}

/** Decided by the largest group that the two do not share. @param own places of the newcomer's groups */
function mustGiveWay(
  groups: readonly Group[],
  newcomer: readonly string[],
  own: readonly number[],
  isStalled: boolean,
): boolean {
  for (let level = 0; level < groups.length; level++) {
    const { name, size } = groups[level]!;
    if (name === newcomer[level]) continue;
    const fewer = size - (own[level] ?? 0);
    return fewer >= 2 || (fewer >= 0 && isStalled);
  }
  return isStalled;
}

/** Positive when the first is heavier: by the largest groups, then by the next ones. */
function compareSizes(one: readonly Group[], other: readonly Group[]): number {
  for (let level = 0; level < one.length; level++) {
    const difference = one[level]!.size - (other[level]?.size ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
