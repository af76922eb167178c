/** A whole number of a label: `n` before it is the minus sign, as in `units`. */
const INTEGER = /^([n-]?)(0|[1-9][0-9]*)$/;

/**
 * Parses digits without leading zeros. A hyphen is a minus sign too, which only a `b32-` or `hex-` label can begin with.
 * @param digits the most that there may be; 15 are exact
 * @returns null outside the grammar
 */
export function parseInteger(text: string, digits: number): number | null {
  const match = INTEGER.exec(text);
  if (match === null || match[2]!.length > digits) return null;
  const size = Number(match[2]);
  return match[1] === '' || size === 0 ? size : -size;
}
