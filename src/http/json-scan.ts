/** Counts what a JSON text has, before anything is made of it: a parser would build millions of values first. */

/** What a text may have. */
export interface JsonBounds {
  /** Objects and arrays within each other. */
  readonly depth: number;
  /** Objects, arrays, strings, numbers and literals. Names of members are none. */
  readonly values: number;
}

/** `depth` and `values`: the text has more than its bounds allow. */
export type Excess = 'depth' | 'values';

interface JsonScan {
  /**
   * Reads on from where the last call ended, to `until` or the end of the string that holds it. Linear in its octets.
   * @returns null while the text is within its bounds
   */
  scan(until: number): Excess | null;
  /** Where the next call begins. */
  readonly at: number;
  /** Members of all objects that were read, repeated names included. */
  readonly members: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What an octet outside strings is. All others belong to numbers and literals, or to no JSON. */
const SEPARATOR = 1;
const STRING = 2;
const NAME_END = 3;
const OPENING = 4;
const CLOSING = 5;

const KINDS = new Uint8Array(256);
for (const [letters, kind] of [
  [', \t\n\r', SEPARATOR],
  ['"', STRING],
  [':', NAME_END],
  ['{[', OPENING],
  ['}]', CLOSING],
] as const) {
  for (const letter of letters) KINDS[letter.charCodeAt(0)] = kind;
}

/**
 * Does not say whether the text is JSON: what it counts is exact for JSON, and bounded for every other text.
 * @param octets UTF-8: every octet that counts here is ASCII, which is part of no other character
 */
export function scanJson(octets: Uint8Array, { depth, values }: JsonBounds): JsonScan {
  const state = { at: 0, level: 0, found: 0, members: 0, inString: false, inScalar: false };

  return {
    get at() {
      return state.at;
    },
    get members() {
      return state.members;
    },
    scan(until) {
      // Local variables: fields would take four times as long for each octet.
      let { at, level, found, members, inString, inScalar } = state;
      let excess: Excess | null = null;
      while (at < until && excess === null) {
        const octet = octets[at++]!;
        if (inString) {
          if (octet === BACKSLASH) at++;
          else inString = octet !== QUOTE;
          continue;
        }
        const kind = KINDS[octet]!;
        if (kind === 0) {
          if (inScalar) continue;
          inScalar = true;
          found++;
        } else {
          inScalar = false;
          if (kind === SEPARATOR) continue;
          if (kind === CLOSING) level--;
          else if (kind === NAME_END) {
            // What was counted as a value was a name.
            found--;
            members++;
          } else {
            found++;
            if (kind === OPENING) {
              if (++level > depth) excess = 'depth';
            } else {
              // Most strings have no escape: one search finds their end.
              const end = octets.indexOf(QUOTE, at);
              if (end >= 0 && octets[end - 1] === BACKSLASH) inString = true;
              else at = end < 0 ? octets.length : end + 1;
            }
          }
        }
        // Colons alone would let any number of values pass.
        if (found > values || members > values) excess ??= 'values';
      }
      Object.assign(state, { at, level, found, members, inString, inScalar });
      return excess;
    },
  };
}

/** Counts members of all objects. */
export function membersOf(value: unknown): number {
  const waiting: unknown[] = [value];
  let members = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    const inner = Object.values(next);
    if (!Array.isArray(next)) members += inner.length;
    for (const one of inner) waiting.push(one);
  }
  return members;
}
