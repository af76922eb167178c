/** The buffer in which a thread builds the replies of one tick, each after its two-octet length (RFC 7766 §8). */

/** Reading pauses while this many octets wait for the peer. Also the socket's high-water mark. */
export const WRITE_BUFFER_OCTETS = 65_536;
/** Octets of the longest DNS message over a stream. */
export const LONGEST = 0xffff;
const LENGTH_OCTETS = 2;

/** The last reply of a tick begins below `WRITE_BUFFER_OCTETS`. */
const output = Buffer.allocUnsafeSlow(WRITE_BUFFER_OCTETS + LENGTH_OCTETS + LONGEST);

/** Memory for the message whose length goes to `at`. */
export function replyAt(at: number): Buffer {
  return output.subarray(at + LENGTH_OCTETS, at + LENGTH_OCTETS + LONGEST);
}

/** Writes the length at `at`. @param octets of the message after it @returns octets of both */
export function endReply(at: number, octets: number): number {
  output[at] = octets >> 8;
  output[at + 1] = octets & 0xff;
  return LENGTH_OCTETS + octets;
}

/** The first `octets`, copied: a socket may keep them until the peer reads. */
export function copyOfReplies(octets: number): Buffer {
  return Buffer.copyBytesFrom(output, 0, octets);
}
