/** IP addresses between text and octets: RFC 4291 §2.2 is read, RFC 5952 is written. */

const DECIMAL_OCTET = /^(?:0|[1-9][0-9]{0,2})$/;
const HEX_GROUP = /^[0-9a-f]{1,4}$/i;
const GROUPS = 8;

/** Four octets from a dotted quad without leading zeros, or null. */
export function ipv4FromText(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4) return null;
  const address = new Uint8Array(4);
  for (const [i, part] of parts.entries()) {
    const octet = Number(part);
    if (!DECIMAL_OCTET.test(part) || octet > 255) return null;
    address[i] = octet;
  }
  return address;
}

/** Sixteen octets, or null. */
export function ipv6FromText(text: string): Uint8Array | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const compressed = halves.length === 2;
  const head = groupsOf(halves[0]!, !compressed);
  const tail = groupsOf(halves[1] ?? '', true);
  if (head === null || tail === null) return null;
  const given = head.length + tail.length;
  // "::" stands for at least one group.
  if (compressed ? given >= GROUPS : given !== GROUPS) return null;
  const address = new Uint8Array(2 * GROUPS);
  for (const [i, group] of head.entries()) putGroup(address, i, group);
  for (const [i, group] of tail.entries()) putGroup(address, GROUPS - tail.length + i, group);
  return address;
}

function putGroup(address: Uint8Array, index: number, group: number): void {
  address[2 * index] = group >>> 8;
  address[2 * index + 1] = group;
}

/** The 16-bit groups of one side of "::"; a dotted quad may stand at the very end. */
function groupsOf(text: string, isEnd: boolean): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    if (HEX_GROUP.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const quad = isEnd && i === parts.length - 1 ? ipv4FromText(part) : null;
    if (quad === null) return null;
    groups.push((quad[0]! << 8) | quad[1]!, (quad[2]! << 8) | quad[3]!);
  }
  return groups;
}

/** The dotted quad of four octets. */
export function ipv4ToText(address: Uint8Array): string {
  return address.join('.');
}

/** The text of sixteen octets (RFC 5952 §4); an IPv4-mapped address ends in a dotted quad (§5). */
export function ipv6ToText(address: Uint8Array): string {
  const groups: number[] = [];
  for (let i = 0; i < 2 * GROUPS; i += 2) groups.push((address[i]! << 8) | address[i + 1]!);
  if (groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return `::ffff:${ipv4ToText(address.subarray(12))}`;
  }
  const { start, length } = longestZeroRun(groups);
  const text = groups.map((group) => group.toString(16));
  // One zero group alone is not shortened (RFC 5952 §4.2.2).
  if (length < 2) return text.join(':');
  return `${text.slice(0, start).join(':')}::${text.slice(start + length).join(':')}`;
}

/** The first of the longest runs of zero groups (RFC 5952 §4.2.3). */
function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let length = 0;
  for (const [i, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > best.length) best = { start: i - length + 1, length };
  }
  return best;
}
