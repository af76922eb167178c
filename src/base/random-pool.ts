/** Octets of one draw: 341 nonces of AES-GCM. */
const DRAW = 4096;

/**
 * Gives slices of larger draws. For nonces, which are not secret: drawn one by one, 12 octets take 3 us, as long as the encryption.
 * @param random cryptographically strong octets
 * @returns octets that no other call has. The caller must not write to them
 */
export function randomPool(random: (bytes: number) => Uint8Array): (bytes: number) => Uint8Array {
  let drawn: Uint8Array = new Uint8Array(0);
  let used = 0;
  return (bytes) => {
    if (bytes > DRAW) return random(bytes);
    if (used + bytes > drawn.length) {
      drawn = random(DRAW);
      used = 0;
    }
    used += bytes;
    return drawn.subarray(used - bytes, used);
  };
}
