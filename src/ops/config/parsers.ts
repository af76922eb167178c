import { isIP } from 'node:net';
import { LIMITS } from '../../base/limits.ts';
import {
  isNetwork,
  type NameServer,
  parseAddress,
  parseIpv4,
  parseIpv6,
} from '../../base/network/address.ts';
import { foldCase, isLabel } from '../../protocol/names/labels.ts';

/** Converts the text of a variable; null when the text is not valid. */
export type Parser<T> = (text: string) => T | null;

/** A literal address, IPv6 without brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Each worker has its own sockets and statistics. */
const WORKERS_MAX = 256;
/** Replies a second, more than the line of one network carries. */
const RATE_MAX = 1_000_000;
/** Instead of a base URL: the provider is off. */
export const PROVIDER_OFF = 'off';
const SCHEDULE_MAX = 10;
/** Days that a signing key signs. */
const KEY_DAYS_MIN = 15;
const KEY_DAYS_MAX = 3650;
const DAY_SECONDS = 86_400;
/** A random key of 128 bits has at least 22 letters in Base64, 32 in hexadecimal. */
const SECRET_MIN = 32;

export function anyText(value: string): string | null {
  return value.includes('\0') ? null : value;
}

export function secretText(value: string): string | null {
  return value.length < SECRET_MIN ? null : value;
}

/** A decimal integer without sign or leading zeros. */
function integer(min: number, max: number): Parser<number> {
  return (value) => {
    if (!/^(?:0|[1-9][0-9]{0,8})$/.test(value)) return null;
    const number = Number(value);
    return number >= min && number <= max ? number : null;
  };
}

export const port = integer(0, 65_535);
export const workers = integer(1, WORKERS_MAX);
export const rate = integer(0, RATE_MAX);
/** A rollover of either key takes nine days or more, so a shorter life would leave no time between two. */
export const keyDays = integer(KEY_DAYS_MIN, KEY_DAYS_MAX);

export const auditDays = integer(1, LIMITS.auditDays);

export function literalAddress(value: string): string | null {
  return isIP(value) === 0 ? null : value;
}

/** Interfaces below which one endpoint can receive: `PATHS` of native/udp-batch.c. */
const INTERFACES_MAX = 8;

/** `off`: none; else names of network interfaces, separated by commas, as Linux allows them. */
export function interfaces(value: string): readonly string[] | null {
  if (value === 'off') return [];
  const names = value.split(',').map((part) => part.trim());
  const isName = (name: string): boolean =>
    /^[!-~]{1,15}$/.test(name) && !/[/:]/.test(name) && !/^\.{1,2}$/.test(name);
  return names.every(isName) && new Set(names).size === names.length && names.length <= INTERFACES_MAX
    ? names
    : null;
}

export function dnsLabel(value: string): string | null {
  const lower = foldCase(value);
  return isLabel(lower) ? lower : null;
}

/** One or more different labels, separated by commas. */
export function labels(value: string): readonly string[] | null {
  const list = value.split(',').map((part) => dnsLabel(part.trim()));
  if (list.some((one) => one === null) || new Set(list).size !== list.length) return null;
  return list as string[];
}

/** One or more domain names, separated by commas; none equal to or below another. Lower case, no trailing dot. */
export function zoneNames(value: string): readonly string[] | null {
  const names = value.split(',').map((part) => part.trim().toLowerCase().replace(/\.$/, ''));
  const isName = (name: string): boolean =>
    name.length <= LIMITS.zoneName && name.split('.').every((part) => isLabel(part));
  const nests = names.some((name, i) =>
    names.some((other, j) => i !== j && (name === other || name.endsWith(`.${other}`))),
  );
  return names.every(isName) && !nests ? names : null;
}

/** `192.0.2.1:9100` or `[2001:db8::1]:9100`. */
export function hostPort(value: string): HostPort | null {
  const [, inBrackets, bare, portText = ''] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]+)$/.exec(value) ?? [];
  const number = port(portText);
  const isAddress = inBrackets === undefined ? isIP(bare ?? '') === 4 : isIP(inBrackets) === 6;
  return isAddress && number !== null ? { host: inBrackets ?? bare!, port: number } : null;
}

/** Scheme, host and port of an http or https URL; null when the URL has other parts. */
export function origin(value: string): string | null {
  if (!URL.canParse(value)) return null;
  const url = new URL(value);
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  return isWeb && url.href === `${url.origin}/` ? url.origin : null;
}

/** Addresses and networks such as `10.0.0.0/8`, separated by commas. */
export function networks(value: string): readonly string[] | null {
  const list = value.split(',').map((part) => part.trim().toLowerCase());
  return list.every(isNetwork) ? list : null;
}

const SWITCH: Readonly<Record<string, boolean>> = { on: true, off: false };

export function onOff(value: string): boolean | null {
  return Object.hasOwn(SWITCH, value) ? SWITCH[value]! : null;
}

export function oneOf<const T extends string>(members: readonly T[]): Parser<T> {
  return (value) => members.find((member) => member === value) ?? null;
}

/** An http or https URL without credentials, query and fragment, or `off`. */
export function providerBase(value: string): string | null {
  if (value === PROVIDER_OFF) return value;
  if (!URL.canParse(value)) return null;
  const { protocol, username, password, search, hash } = new URL(value);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && username + password + search + hash === '' ? value : null;
}

/** Addresses separated by commas, with `:port` (IPv6 in brackets) for another port than 53. */
export function resolvers(value: string): readonly string[] | null {
  const list = value.split(',').map((part) => part.trim());
  return list.every(isServer) ? list : null;
}

function isServer(server: string): boolean {
  const parts = /^(?:\[([^\]]+)\]|([^:]+))(?::([0-9]+))?$/.exec(server);
  if (parts === null) return parseIpv6(server) !== null;
  const [, inBrackets, bare, portText] = parts;
  if (portText !== undefined && !port(portText)) return false;
  return inBrackets === undefined ? parseIpv4(bare ?? '') !== null : parseIpv6(inBrackets) !== null;
}

/** Seconds before each attempt, separated by commas: 1 to 10 numbers of at most three decimals, none above a day. */
export function schedule(value: string): readonly number[] | null {
  const parts = value.split(',').map((part) => part.trim());
  if (parts.length > SCHEDULE_MAX || !parts.every((part) => /^[0-9]{1,5}(?:\.[0-9]{1,3})?$/.test(part)))
    return null;
  const seconds = parts.map(Number);
  return seconds.every((one) => one <= DAY_SECONDS) ? seconds : null;
}

/** `smtp://` or `smtps://`, with or without credentials. */
export function smtpUrl(value: string): string | null {
  if (!URL.canParse(value)) return null;
  const { protocol, hostname } = new URL(value);
  return (protocol === 'smtp:' || protocol === 'smtps:') && hostname !== '' ? value : null;
}

/** A mail address without a name: one at-sign, no space, bracket or control character. */
export function mailAddress(value: string): string | null {
  return /^[^\s@<>(),;:"\\]{1,64}@[A-Za-z0-9.-]{1,255}$/.test(value) ? value : null;
}

export function postgresUrl(value: string): string | null {
  if (!URL.canParse(value)) return null;
  const { protocol } = new URL(value);
  return protocol === 'postgres:' || protocol === 'postgresql:' ? value : null;
}

/** `ns1=192.0.2.1,ns2=192.0.2.2`: at least two names (RFC 1034 §4.1), each address once for a name. Keeps the order. */
export function nameServers(value: string): readonly NameServer[] | null {
  const servers = new Map<string, string[]>();
  for (const part of value.split(',')) {
    const [left = '', right = '', ...rest] = part.split('=');
    const name = dnsLabel(left.trim());
    const address = right.trim().toLowerCase();
    // A zone index (`fe80::1%eth0`) has a meaning on this host only, so it cannot be published.
    if (name === null || rest.length > 0 || parseAddress(address) === null) return null;
    const addresses = servers.get(name) ?? [];
    if (addresses.includes(address)) return null;
    addresses.push(address);
    servers.set(name, addresses);
  }
  return servers.size < 2 ? null : Array.from(servers, ([name, addresses]) => ({ label: name, addresses }));
}
