const MAPPED_V4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The rate key of a client address: an IPv4 address as it is (IPv4-mapped IPv6 too), an IPv6 address by its /64, which is
 * what one subscriber commonly holds (decisions, section 2).
 *
 * @param address as `socket.remoteAddress` gives it: undefined once the client is gone
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'gone';
  const mapped = MAPPED_V4.exec(address);
  if (mapped !== null) return mapped[1]!;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::', 2);
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

function groups(text: string): string[] {
  if (text === '') return [];
  // A dotted quad at the end stands for two groups; its value never reaches the first four.
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
}
