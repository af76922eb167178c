/** Octets that are held for clients to take them, bounded in all. Who holds most gives way first. */

export interface HeldOctets {
  /** Octets held now. */
  readonly total: number;
  /**
   * @param name of who has asked: a person, or a network
   * @param giveWay ends what holds the octets. They no longer count by then
   * @returns sets how many octets it holds from now on; 0 ends it. Without effect after it has given way
   */
  holder(name: string, giveWay: () => void): (octets: number) => void;
}

interface Group {
  octets: number;
  readonly holdings: Holding[];
}

interface Holding {
  octets: number;
  readonly giveWay: () => void;
}

/**
 * While more than `all` octets are held, the largest holding of the name that holds most gives way, of equals the oldest: who takes nothing
 * holds more the longer it asks, and who takes what it asks for holds little.
 */
export function createHeldOctets(all: number): HeldOctets {
  const groups = new Map<string, Group>();
  let total = 0;

  function weigh(name: string, holding: Holding, octets: number): void {
    const group = groups.get(name) ?? { octets: 0, holdings: [] };
    if (holding.octets === 0) group.holdings.push(holding);
    // Not a Set: V8 keeps what was in the tables that a Set has replaced until a whole collection.
    if (octets === 0) group.holdings.splice(group.holdings.indexOf(holding), 1);
    group.octets += octets - holding.octets;
    total += octets - holding.octets;
    holding.octets = octets;
    if (group.holdings.length === 0) groups.delete(name);
    else groups.set(name, group);
  }

  function makeRoom(): void {
    while (total > all) {
      const [name, { holdings }] = largest([...groups], ([, group]) => group);
      const holding = largest(holdings, (one) => one);
      weigh(name, holding, 0);
      holding.giveWay();
    }
  }

  return {
    get total() {
      return total;
    },
    holder(name, giveWay) {
      let isOver = false;
      const holding: Holding = {
        octets: 0,
        giveWay() {
          isOver = true;
          giveWay();
        },
      };
      return (octets) => {
        if (isOver || octets === holding.octets) return;
        weigh(name, holding, octets);
        makeRoom();
      };
    },
  };
}

/** The first of those with most octets. @param list not empty */
function largest<T>(list: readonly T[], octetsOf: (one: T) => { readonly octets: number }): T {
  return list.reduce((most, one) => (octetsOf(one).octets > octetsOf(most).octets ? one : most));
}
