/**
 * Loaded before a server's program (`node --import`), in worker threads too: changes values of its constants, so that a benchmark can
 * measure a path that a limit or a cache normally hides.
 *
 * BENCH_VALUES: JSON list of `[URL of a module, name of an object that it exports, new values]`.
 */
type Change = readonly [url: string, name: string, values: Readonly<Record<string, number>>];

for (const [url, name, values] of JSON.parse(process.env.BENCH_VALUES ?? '[]') as Change[]) {
  const { [name]: constants } = (await import(url)) as Record<string, Record<string, number> | undefined>;
  for (const [key, value] of Object.entries(values)) {
    if (typeof constants?.[key] !== 'number') throw new Error(`${url} exports no number ${name}.${key}`);
    constants[key] = value;
  }
}

export {};
