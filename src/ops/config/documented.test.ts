import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import { ENVIRONMENT } from './env.ts';

/** Cells of the table under a heading of docs/OPERATIONS.md, without head and rule. */
function documentedTable(heading: string): string[][] {
  const page = readFileSync(new URL('../../../docs/OPERATIONS.md', import.meta.url), 'utf8');
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/OPERATIONS.md', () => {
  it('prints the table of variables', () => {
    const table = Object.entries(ENVIRONMENT).map(([name, row]) => [
      name,
      'shown' in row ? row.shown : row.fallback,
      row.meaning,
    ]);
    assert.deepEqual(documentedTable('Environment'), table);
  });

  it('prints the table of limits', () => {
    const table = Object.entries(LIMITS).map(([name, value]) => [name, value.toLocaleString('en-US')]);
    assert.deepEqual(
      documentedTable('Limits').map(([name, value]) => [name, value]),
      table,
    );
  });

  it('knows of no other variable', () => {
    const pages = readdirSync(new URL('../../../docs/', import.meta.url)).filter((name) =>
      name.endsWith('.md'),
    );
    for (const page of pages) {
      const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
      for (const [name] of text.matchAll(/\bUQRP_[A-Z_]+\b/g))
        assert.ok(name in ENVIRONMENT, `${name} in ${page}`);
    }
  });
});
