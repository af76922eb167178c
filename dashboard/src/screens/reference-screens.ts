/** Screens of one chunk that show what the server offers. */

export { ApiScreen } from './api/api-screen.tsx';
export { DatasetsScreen } from './datasets/datasets-screen.tsx';
export { PlaygroundScreen } from './playground/playground-screen.tsx';
