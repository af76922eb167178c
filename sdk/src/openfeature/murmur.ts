/** MurmurHash3, 32 bits, of the UTF-8 of a text (Austin Appleby, public domain). */
export function murmur3(text: string, seed = 0): number {
  const octets = new TextEncoder().encode(text);
  const view = new DataView(octets.buffer);
  const whole = octets.length & ~3;
  let hash = seed;
  for (let at = 0; at < whole; at += 4) {
    hash ^= scrambled(view.getUint32(at, true));
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64;
  }
  let tail = 0;
  for (let at = octets.length - 1; at >= whole; at -= 1) tail = (tail << 8) | view.getUint8(at);
  hash ^= scrambled(tail) ^ octets.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function scrambled(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
