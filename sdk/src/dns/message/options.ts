import { encodeHex } from '../../../../src/protocol/encodings.ts';
import { extendedErrorName } from './codes.ts';

/** Options of EDNS (RFC 6891). Source of the code points: IANA. */
const OPTION = { NSID: 3, COOKIE: 10, KEEPALIVE: 11, PADDING: 12, EXTENDED_ERROR: 15 } as const;

const NAMES: ReadonlyMap<number, string> = new Map([
  [OPTION.NSID, 'NSID'],
  [8, 'client subnet'],
  [OPTION.COOKIE, 'cookie'],
  [OPTION.KEEPALIVE, 'keepalive'],
  [OPTION.PADDING, 'padding'],
  [OPTION.EXTENDED_ERROR, 'extended error'],
]);

export interface EdnsOption {
  readonly code: number;
  /** `padding`, or `option 65001`. */
  readonly name: string;
  readonly octets: Uint8Array;
  readonly text: string;
}

/** An extended error (RFC 8914). */
export interface ExtendedError {
  readonly code: number;
  /** Registered purpose: `Prohibited`. */
  readonly name: string;
  /** What the server says to it; may be empty. */
  readonly text: string;
}

/** What the OPT record says. */
export interface Edns {
  /** Octets that the sender takes over UDP. */
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
  readonly options: readonly EdnsOption[];
  readonly extendedErrors: readonly ExtendedError[];
  /** Whether every octet of padding is zero, as RFC 7830 demands. */
  readonly isPaddingZero: boolean;
}

export function readOption(code: number, octets: Uint8Array): EdnsOption {
  return { code, name: NAMES.get(code) ?? `option ${code}`, octets, text: optionText(code, octets) };
}

export function extendedErrorsOf(options: readonly EdnsOption[]): readonly ExtendedError[] {
  return options.flatMap(({ code, octets }) => {
    const error = code === OPTION.EXTENDED_ERROR ? readExtendedError(octets) : null;
    return error === null ? [] : [error];
  });
}

export function isPaddingZero(options: readonly EdnsOption[]): boolean {
  return options.every(({ code, octets }) => code !== OPTION.PADDING || octets.every((octet) => octet === 0));
}

function readExtendedError(octets: Uint8Array): ExtendedError | null {
  const [high, low] = octets;
  if (high === undefined || low === undefined) return null;
  const code = (high << 8) | low;
  return { code, name: extendedErrorName(code), text: new TextDecoder().decode(octets.subarray(2)) };
}

function optionText(code: number, octets: Uint8Array): string {
  if (code === OPTION.PADDING) return `${octets.length} octets`;
  if (code === OPTION.COOKIE) {
    const server = octets.length > 8 ? ` ${encodeHex(octets.subarray(8))}` : '';
    return `${encodeHex(octets.subarray(0, 8))}${server}`;
  }
  if (code === OPTION.NSID) return new TextDecoder().decode(octets);
  const error = code === OPTION.EXTENDED_ERROR ? readExtendedError(octets) : null;
  if (error !== null) return `${error.code} ${error.name}${error.text === '' ? '' : `: ${error.text}`}`;
  if (code === OPTION.KEEPALIVE && octets.length === 2) {
    return `${(((octets[0] ?? 0) << 8) | (octets[1] ?? 0)) / 10} s`;
  }
  return encodeHex(octets);
}
