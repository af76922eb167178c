/**
 * The packed table of places, as scripts/build-places.ts writes it and `table.ts` reads it. All numbers little-endian.
 *
 *   magic, then five u32: places, keys, and the octets of regions, names, blocks
 *   lat       i32 each, 1e-5 degree
 *   lon       i32 each
 *   region    u16 each: line in the list of regions
 *   regions   lines `<country> <region code> <IANA time zone>`
 *   names     lines, UTF-8, one a place
 *   starts    u32 each: where a block begins
 *   blocks    BLOCK_KEYS keys each, in the order of their octets
 *
 * Places are in the order of their population, most populous first. A key is: octets shared with the key before (0 at the
 * start of a block), octets that follow, those octets, count of its places, and their numbers, best first; counts and numbers
 * are varints (seven bits an octet, the lowest first). A first number that is no place's, the count of places, says that
 * the key alone is the name of a country, territory or state: only with a qualifier it is the others'. Keys are without
 * hyphens, but for spellings whose best place is not that of the key without.
 */
export const MAGIC = 'PLACES3\n';
export const HEADER_OCTETS = MAGIC.length + 5 * 4;
export const BLOCK_KEYS = 16;
/** Units of a coordinate in one degree. */
export const DEGREE = 1e5;

/** Octets of a key in a label: of ASCII all, of other scripts what `b32-` can hold. */
export const KEY_OCTETS = { ascii: 63, other: 36 } as const;
