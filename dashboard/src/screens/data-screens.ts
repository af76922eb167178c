/**
 * Screens of one chunk: a visitor of records goes to namespaces next. Screens that are loaded together are smaller than each alone, because text that is
 * alike compresses together; of a group that nobody visits, nothing is loaded.
 */

export { ImportScreen } from './import/import-screen.tsx';
export { NamespaceScreen } from './namespaces/namespace-screen.tsx';
export { NamespacesScreen } from './namespaces/namespaces-screen.tsx';
export { RecordsScreen } from './records/records-screen.tsx';
