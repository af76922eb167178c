const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Counts members of all objects in valid JSON, repeated names included: each has one colon outside strings. */
export function membersWritten(text: string): number {
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COLON) members++;
    else if (code === QUOTE) at = endOfString(text, at);
  }
  return members;
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** Counts members of all objects. Iterative, because nesting is limited only by the body's length. */
export function membersOf(value: unknown): number {
  const waiting: unknown[] = [value];
  let members = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    const inner = Object.values(next);
    if (!Array.isArray(next)) members += inner.length;
    for (const one of inner) waiting.push(one);
  }
  return members;
}
