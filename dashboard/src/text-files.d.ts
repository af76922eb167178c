/** A file of text, which the build puts into the chunk that imports it. */
declare module '*.txt' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: the form that esbuild gives to a text
  export default text;
}
