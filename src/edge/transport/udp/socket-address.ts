/** Peers as the kernel writes them: sockaddr_in and sockaddr_in6 of Linux. */

/** Offset of the port in both. */
const PORT_AT = 2;
const IPV4_AT = 4;
const IPV4_OCTETS = 4;
/** After port and flow label. */
const IPV6_AT = 8;
const IPV6_OCTETS = 16;
/** Head of an IPv4-mapped address (RFC 4291 §2.5.5.2). */
const MAPPED_AT = 12;

/** A peer in memory that each packet overwrites, so that reading allocates nothing. */
export class SocketAddress {
  /** The sockaddr for the reply. */
  readonly octets: Uint8Array;
  readonly #isIpv6: boolean;
  readonly #ipv4: Uint8Array;
  readonly #ipv6: Uint8Array;

  /** @param octets at least 28 @param isIpv6 family of the socket, and so of every address on it */
  constructor(octets: Uint8Array, isIpv6: boolean) {
    const ipv4At = isIpv6 ? IPV6_AT + MAPPED_AT : IPV4_AT;
    this.octets = octets;
    this.#isIpv6 = isIpv6;
    this.#ipv4 = octets.subarray(ipv4At, ipv4At + IPV4_OCTETS);
    this.#ipv6 = octets.subarray(IPV6_AT, IPV6_AT + IPV6_OCTETS);
  }

  get hasPort(): boolean {
    return (this.octets[PORT_AT]! | this.octets[PORT_AT + 1]!) !== 0;
  }

  /** The IP address: 4 octets (also of a mapped one) or 16. A view, valid until the next packet. */
  get ip(): Uint8Array {
    return this.#isIpv6 && !this.#isMapped() ? this.#ipv6 : this.#ipv4;
  }

  /** A copy to keep. */
  copy(): SocketAddress {
    return new SocketAddress(Uint8Array.from(this.octets), this.#isIpv6);
  }

  #isMapped(): boolean {
    const address = this.#ipv6;
    if ((address[MAPPED_AT - 2]! & address[MAPPED_AT - 1]!) !== 0xff) return false;
    for (let i = 0; i < MAPPED_AT - 2; i++) if (address[i] !== 0) return false;
    return true;
  }
}
