/** A proof that a leaf is in a log, for verification without network (C2SP tlog-proof). Browsers read it too. */
import { decodeBase64, encodeBase64 } from '../encodings.ts';
import { parseDecimal } from './checkpoint.ts';
import { isNoteText } from './note.ts';

export interface LogProof {
  /** Number of the leaf, from zero. */
  readonly index: number;
  /** From the sibling of the leaf upwards, 32 octets each. */
  readonly hashes: readonly Uint8Array[];
  /** The checkpoint with its signatures, as the log gave it. */
  readonly checkpoint: string;
  /** Of another application, and not authenticated. We write none. */
  readonly extra: Uint8Array | null;
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1';
const EXTRA = 'extra ';
const INDEX = 'index ';
const HASH_OCTETS = 32;
/** Of a tree with 2^63 leaves. */
const PROOF_HASHES = 63;

/** Null where it is malformed. Whether it proves anything is not checked. */
export function parseLogProof(text: string): LogProof | null {
  if (!isNoteText(text)) return null;
  const end = text.indexOf('\n\n');
  const [first, ...lines] = text.slice(0, Math.max(end, 0)).split('\n');
  if (first !== FIRST_LINE) return null;
  const extra = lines[0]?.startsWith(EXTRA) ? decodeBase64(lines.shift()!.slice(EXTRA.length)) : undefined;
  const indexLine = lines.shift() ?? '';
  const index = indexLine.startsWith(INDEX) ? parseDecimal(indexLine.slice(INDEX.length)) : null;
  const hashes = parseHashes(lines);
  if (extra === null || index === null || hashes === null) return null;
  return { index, hashes, checkpoint: text.slice(end + 2), extra: extra ?? null };
}

export function printLogProof({ index, hashes, checkpoint, extra }: LogProof): string {
  const lines = [
    FIRST_LINE,
    ...(extra === null ? [] : [EXTRA + encodeBase64(extra)]),
    INDEX + index,
    ...hashes.map(encodeBase64),
  ];
  return `${lines.join('\n')}\n\n${checkpoint}`;
}

/** One hash a line, as a witness is given a consistency proof too. Null where one is malformed, or there are more than 63. */
export function parseHashes(lines: readonly string[]): readonly Uint8Array[] | null {
  if (lines.length > PROOF_HASHES) return null;
  const hashes = lines.map(decodeBase64);
  return hashes.every((hash) => hash?.length === HASH_OCTETS) ? (hashes as Uint8Array[]) : null;
}
