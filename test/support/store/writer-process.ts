import { openStore } from '../../../src/store/open.ts';
import { putRecord, settle } from './fixtures.ts';

// Writes records, and names each on stdout once it is acknowledged, until it is killed.
const store = await openStore({ dataDir: process.argv[2]!, databaseUrl: null, clock: Date.now });
const home = await settle(store);
let next = 0;

async function writer(): Promise<void> {
  for (;;) {
    const name = `k${next++}`;
    await store.write((tx) => putRecord(tx, home, name));
    process.stdout.write(`${name}.doc.${home.namespace}.v1\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, writer));
