/** The parts of a name, for the colours of the playground. The grammar is that of docs/PROTOCOL.md. */
import { parseName } from '../../../../sdk/src/dns.ts';
import { hasTokenLabel, MASK } from '../../format/masked-name.ts';

export type PartKind =
  | 'operation'
  | 'token'
  | 'param'
  | 'resource'
  | 'namespace'
  | 'version'
  | 'zone'
  | 'other';

export interface NamePart {
  readonly kind: PartKind;
  readonly text: string;
}

/** What the server will say to the form of a name. `bare`: it lacks the zone, which is added. */
export type NameState = 'query' | 'bare' | 'short' | 'outside' | 'E001' | 'E002' | 'E003';

/** The zone that a name lies in; null: none of the server's. */
export function zoneOf(name: string, zones: readonly string[]): string | null {
  const folded = name.toLowerCase().replace(/\.$/, '');
  return zones.find((zone) => folded === zone || folded.endsWith(`.${zone}`)) ?? null;
}

/** A name whose author left the zone out, with the first zone; any other as it is. A mask counts as a token. */
export function withZone(name: string, zones: readonly string[]): string {
  const trimmed = name.trim();
  const bare = trimmed.replace(/\.$/, '');
  const [zone] = zones;
  if (zone === undefined || zoneOf(bare, zones) !== null) return trimmed;
  return parseName(bare.replace(MASK, 'token')).kind === 'query' ? `${bare}.${zone}` : trimmed;
}

/** The labels of a name with what they are. Those of the zone are one part. */
export function partsOfName(name: string, zones: readonly string[]): readonly NamePart[] {
  const bare = name.replace(/\.$/, '');
  const zone = zoneOf(bare, zones);
  const below = zone === null ? bare : bare.slice(0, Math.max(0, bare.length - zone.length - 1));
  const labels = below === '' ? [] : below.split('.');
  const end: readonly NamePart[] = zone === null ? [] : [{ kind: 'zone', text: bare.slice(-zone.length) }];
  return [...labels.map((text, at) => ({ kind: kindOf(labels, at, zone !== null), text })), ...end];
}

function kindOf(labels: readonly string[], at: number, isInZone: boolean): PartKind {
  const count = labels.length;
  if (!isInZone || count < 4) return 'other';
  if (at === 0) return 'operation';
  if (at === 1 && count > 4 && /^auth-/i.test(labels[1] ?? '')) return 'token';
  return ({ 1: 'version', 2: 'namespace', 3: 'resource' } as const)[count - at] ?? 'param';
}

/** What the server's grammar says to a name. A mask counts as a token. */
export function stateOfName(name: string, zones: readonly string[]): NameState {
  const bare = name.replace(/\.$/, '');
  const zone = zoneOf(bare, zones);
  if (zone === null) return withZone(bare, zones) === bare ? 'outside' : 'bare';
  const below = bare.slice(0, Math.max(0, bare.length - zone.length - 1)).replace(MASK, 'token');
  const parsed = parseName(below);
  return parsed.kind === 'malformed' ? parsed.code : parsed.kind;
}

/** Whether a name may be asked before its author says so: only a whole one, and none with a token, which may not be whole yet. */
export function mayBeAskedWhileTyping(name: string, zones: readonly string[]): boolean {
  return !hasTokenLabel(name) && stateOfName(name, zones) === 'query';
}
