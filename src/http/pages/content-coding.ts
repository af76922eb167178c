/** Which content coding a client takes (RFC 9110 §12.5.3). */

export type Coding = 'br' | 'gzip' | 'identity';

const ZERO = /^0(?:\.0{0,3})?$/;

/** The smallest coding that the client takes. @param header `Accept-Encoding` */
export function bestCoding(header: string | undefined): Coding {
  const accepted = new Set<string>();
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const isRefused = parameters.some((text) => text.startsWith('q=') && ZERO.test(text.slice(2)));
    if (!isRefused) accepted.add(name);
  }
  if (accepted.has('br')) return 'br';
  return accepted.has('gzip') || accepted.has('x-gzip') ? 'gzip' : 'identity';
}
