import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it } from 'node:test';
import { hideSqliteWarning } from './command-line.ts';

it('hides the warning that SQLite is experimental, and no other', () => {
  const warnings = new EventEmitter();
  const shown: string[] = [];
  warnings.on('warning', ({ message }: Error) => shown.push(message));
  hideSqliteWarning(warnings);
  const warn = (name: string, message: string): void => {
    warnings.emit('warning', Object.assign(new Error(message), { name }));
  };
  warn('ExperimentalWarning', 'SQLite is an experimental feature and might change at any time');
  warn('ExperimentalWarning', 'Another is an experimental feature');
  warn('DeprecationWarning', 'SQLite in this form is deprecated');
  assert.deepEqual(shown, ['Another is an experimental feature', 'SQLite in this form is deprecated']);
});
