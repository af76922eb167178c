// biome-ignore-all lint/style/noDefaultExport: so the package has it.
/** Lucide declares the types of its index only, which would be read whole at each build. */
declare module 'lucide/dist/esm/icons/*.mjs' {
  const shape: import('./icon.tsx').IconShape;
  export default shape;
}
