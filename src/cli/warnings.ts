/**
 * Hides one warning of Node: that node:sqlite is experimental, which 22 and early versions of 24 print at every command.
 * Both are tested versions. Every other warning goes to the listeners that Node had.
 */
export function hideSqliteWarning(warnings: NodeJS.EventEmitter = process): void {
  const listeners = warnings.listeners('warning');
  warnings.removeAllListeners('warning');
  warnings.on('warning', (warning: Error) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith('SQLite ')) return;
    for (const listener of listeners) listener.call(warnings, warning);
  });
}
