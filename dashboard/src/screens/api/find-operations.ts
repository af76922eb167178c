import type { Operation, OperationGroup } from './openapi.ts';

/** Of how many operations a word may be part of what is known best: their name, path and summary. */
function headOf({ id, method, path, summary }: Operation, group: string): string {
  return `${id} ${method} ${path} ${summary} ${group}`.toLowerCase();
}

/** The operations that have every word of a text, by their groups; groups without any are left out. All, for an empty text. */
export function matchingGroups(groups: readonly OperationGroup[], text: string): readonly OperationGroup[] {
  const words = wordsOf(text);
  return groups
    .map((group) => ({
      ...group,
      operations: group.operations.filter((one) => {
        const all = `${headOf(one, group.name)} ${one.description} ${one.parameters.map(({ name }) => name).join(' ')}`;
        return hasAll(all.toLowerCase(), words);
      }),
    }))
    .filter(({ operations }) => operations.length > 0);
}

/** The operation that Enter opens: the first that has the words in its name, path or summary; else the first of all. */
export function bestMatch(groups: readonly OperationGroup[], text: string): Operation | null {
  const words = wordsOf(text);
  const all = groups.flatMap(({ name, operations }) => operations.map((operation) => ({ name, operation })));
  const best = all.find(({ name, operation }) => hasAll(headOf(operation, name), words)) ?? all[0];
  return best?.operation ?? null;
}

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}
