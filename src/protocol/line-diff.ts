/** What differs between two lists of lines. */

export interface DiffLine {
  /** `-`: only in the first, `+`: only in the second. */
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** By the longest common subsequence. A record has at most some thousand lines. */
export function diffLines(a: readonly string[], b: readonly string[]): DiffLine[] {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: ' ', text: a[i]! });
      i++;
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)
    ) {
      lines.push({ mark: '-', text: a[i]! });
      i++;
    } else {
      lines.push({ mark: '+', text: b[j]! });
      j++;
    }
  }
  return lines;
}
