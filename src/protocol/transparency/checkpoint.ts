/** Checkpoints (C2SP tlog-checkpoint v1.0.0): the text of a note that states size and root of a tree. Browsers read it too. */
import { decodeBase64, encodeBase64 } from '../encodings.ts';
import { isNoteText, parseNote, type SignedNote } from './note.ts';
import { isTreeSize } from './subtrees.ts';

export interface TreeHead {
  readonly origin: string;
  readonly size: number;
  /** 32 octets. */
  readonly root: Uint8Array;
}

/** A note whose text is a tree head. Its signatures are not verified. */
export interface Checkpoint extends TreeHead {
  readonly note: SignedNote;
}

const ROOT_OCTETS = 32;
const DECIMAL = /^(?:0|[1-9][0-9]{0,15})$/;

/** Null where it is malformed. Extension lines of others are passed over; signatures cover them, and we write none. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const note = parseNote(text);
  const head = note && parseTreeHead(note.text);
  return note && head && { ...head, note };
}

export function parseTreeHead(text: string): TreeHead | null {
  if (!isNoteText(text) || !text.endsWith('\n')) return null;
  const [origin = '', decimal = '', base64 = '', ...extensions] = text.slice(0, -1).split('\n');
  const size = parseDecimal(decimal);
  const root = decodeBase64(base64);
  if (origin === '' || size === null || root?.length !== ROOT_OCTETS || extensions.includes('')) return null;
  return { origin, size, root };
}

/** The text of the note, which is signed. */
export function treeHeadText({ origin, size, root }: TreeHead): string {
  return `${origin}\n${size}\n${encodeBase64(root)}\n`;
}

/** A number of leaves as all these formats write it. Null for leading zeros, and above what a number holds exactly. */
export function parseDecimal(text: string): number | null {
  const value = DECIMAL.test(text) ? Number(text) : -1;
  return isTreeSize(value) ? value : null;
}
