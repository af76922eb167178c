/** What waits of one source for one name, oldest first. In two groups: that of its source and that of its name. */
interface Cell<T> {
  readonly source: Group<T>;
  readonly name: Group<T>;
  readonly items: T[];
  readonly weights: number[];
  weight: number;
}

/** What waits of one source, or for one name. */
interface Group<T> {
  readonly share: number;
  /** By share of names in the group of a source, by share of sources in that of a name; whose turn is next first. */
  readonly cells: Map<number, Cell<T>>;
  weight: number;
}

/**
 * A bounded queue, fair to sources and to names: each is the number of a share. Sources take turns, and so do names; a turn of the
 * one follows a turn of the other. So neither one source with many names nor one name from many sources delays the others. The heaviest gives way first:
 * a newcomer displaces the newest of the heaviest source or name while its own are lighter (stochastic fairness queueing).
 */
export class FairQueue<T> {
  readonly #sources = new Groups<T>();
  readonly #names = new Groups<T>();
  readonly #capacity: number;
  readonly #displaced: (item: T) => void;
  #weight = 0;
  #length = 0;
  #isTurnOfNames = false;
  /**
   * The last cell, when nothing waits any more: most questions find an empty queue, and a map that is emptied and filled for each makes
   * tables that outlive the collections of young objects (a table that was replaced refers to the next one).
   */
  #idle: Cell<T> | null = null;

  /** @param capacity sum of weights @param displaced called for what gives way */
  constructor(capacity: number, displaced: (item: T) => void) {
    this.#capacity = capacity;
    this.#displaced = displaced;
  }

  get length(): number {
    return this.#length;
  }

  /** Whether anything of this share of names waits. */
  holds(name: number): boolean {
    return this.#names.weightOf(name) > 0;
  }

  /** Makes room for a newcomer where heavier ones give way. @returns whether there is room; then call `push`. Else nothing has given way */
  makeRoom(source: number, name: number, weight = 1): boolean {
    const gone: { readonly item: T; readonly weight: number; readonly cell: Cell<T> }[] = [];
    while (this.#weight + weight > this.#capacity) {
      const heaviest = this.#heaviest();
      const own = this.#sources.weightOf(source) + this.#names.weightOf(name) + weight;
      if (heaviest === undefined || weightAround(heaviest) <= own) {
        for (const { item, weight: its, cell } of gone.reverse())
          this.push(item, cell.source.share, cell.name.share, its);
        return false;
      }
      const last = { item: heaviest.items.pop()!, weight: heaviest.weights.pop()!, cell: heaviest };
      this.#left(heaviest, last.weight, false);
      gone.push(last);
    }
    for (const { item } of gone) this.#displaced(item);
    return true;
  }

  /** Call `makeRoom` first. */
  push(item: T, source: number, name: number, weight = 1): void {
    if (this.#idle !== null) this.#wake(this.#idle, source, name);
    const [ofSource, ofName] = [this.#sources.group(source), this.#names.group(name)];
    let cell = ofSource.cells.get(name);
    if (cell === undefined) {
      cell = { source: ofSource, name: ofName, items: [], weights: [], weight: 0 };
      ofSource.cells.set(name, cell);
      ofName.cells.set(source, cell);
    }
    cell.items.push(item);
    cell.weights.push(weight);
    this.#add(cell, weight);
    this.#length++;
  }

  /** Takes what has waited longest of those whose turn it is. @param may whether the share of a name may go now @returns undefined: none may */
  next(may: (name: number) => boolean = always): T | undefined {
    if (this.#length === 0) return undefined;
    const cell = (this.#isTurnOfNames ? this.#names : this.#sources).next(may);
    if (cell === undefined) return undefined;
    this.#isTurnOfNames = !this.#isTurnOfNames;
    const oldest = cell.items.shift()!;
    this.#left(cell, cell.weights.shift()!, true);
    return oldest;
  }

  /** Something of the cell is gone. @param isTurn it went: the next turns are those of others */
  #left(cell: Cell<T>, weight: number, isTurn: boolean): void {
    const { source, name } = cell;
    this.#add(cell, -weight);
    this.#length--;
    const isEmpty = cell.items.length === 0;
    if (this.#length === 0) {
      this.#idle = cell;
    } else if (isTurn) {
      this.#sources.after(source, name.share, isEmpty ? null : cell);
      this.#names.after(name, source.share, isEmpty ? null : cell);
    } else if (isEmpty) {
      this.#drop(cell);
    }
  }

  #drop({ source, name }: Cell<T>): void {
    this.#sources.drop(source, name.share);
    this.#names.drop(name, source.share);
  }

  /** The idle cell serves a newcomer of the same shares, and is forgotten before another. */
  #wake(idle: Cell<T>, source: number, name: number): void {
    if (idle.source.share !== source || idle.name.share !== name) this.#drop(idle);
    this.#idle = null;
  }

  #add(cell: Cell<T>, weight: number): void {
    cell.weight += weight;
    this.#weight += weight;
    this.#sources.add(cell.source, weight);
    this.#names.add(cell.name, weight);
  }

  #heaviest(): Cell<T> | undefined {
    const [a, b] = [this.#sources.heaviest(), this.#names.heaviest()];
    if (a === undefined || b === undefined) return undefined;
    return weightAround(a) > weightAround(b) ? a : b;
  }
}

const always = (): boolean => true;

function weightAround<T>({ source, name }: Cell<T>): number {
  return source.weight + name.weight;
}

/** Groups by share, whose turn is next first. */
class Groups<T> {
  readonly #groups = new Map<number, Group<T>>();
  /** Kept until something leaves: a full queue asks for each newcomer. */
  #heaviest: Group<T> | undefined;

  weightOf(share: number): number {
    return this.#groups.get(share)?.weight ?? 0;
  }

  group(share: number): Group<T> {
    const known = this.#groups.get(share);
    if (known !== undefined) return known;
    const group = { share, cells: new Map<number, Cell<T>>(), weight: 0 };
    this.#groups.set(share, group);
    return group;
  }

  add(group: Group<T>, weight: number): void {
    group.weight += weight;
    if (weight < 0) this.#heaviest = undefined;
    else if (this.#heaviest !== undefined && group.weight > this.#heaviest.weight) this.#heaviest = group;
  }

  /** The next turn of the group is after all others, and in it that of the cell. @param cell null: nothing of it is left */
  after(group: Group<T>, other: number, cell: Cell<T> | null): void {
    // Most often there is one cell: a short queue of misses does not tell sources apart.
    if (cell !== null && group.cells.size === 1 && this.#groups.size === 1) return;
    group.cells.delete(other);
    if (cell !== null) group.cells.set(other, cell);
    this.#groups.delete(group.share);
    if (group.cells.size > 0) this.#groups.set(group.share, group);
  }

  /** Nothing is left of a cell that gave way. Its group keeps its turn: else a flood of newcomers could take it from it again and again. */
  drop(group: Group<T>, other: number): void {
    group.cells.delete(other);
    if (group.cells.size === 0) this.#groups.delete(group.share);
  }

  /** The first cell, by turns, whose name may go. */
  next(may: (name: number) => boolean): Cell<T> | undefined {
    for (const group of this.#groups.values()) {
      for (const cell of group.cells.values()) if (may(cell.name.share)) return cell;
    }
    return undefined;
  }

  /** The heaviest cell of the heaviest group; of equal ones the last, whose turn is farthest. */
  heaviest(): Cell<T> | undefined {
    this.#heaviest ??= heaviestOf(this.#groups.values());
    return this.#heaviest && heaviestOf(this.#heaviest.cells.values());
  }
}

function heaviestOf<G extends { readonly weight: number }>(all: Iterable<G>): G | undefined {
  let heaviest: G | undefined;
  for (const one of all) if (heaviest === undefined || one.weight >= heaviest.weight) heaviest = one;
  return heaviest;
}
