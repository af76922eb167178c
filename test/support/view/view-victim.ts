/** A process that writes to a view until it is killed: two records and the cursor, always of one number. */
import { openLmdbWriter } from '../../../src/view/writer.ts';
import { upserted } from './view-changes.ts';

const writer = openLmdbWriter({ path: process.argv[2]! });
const filler = Array.from({ length: 50 }, (_, i) => i);
for (let i = (writer.cursor() ?? 0) + 1, told = 0; ; i++, told++) {
  const text = String(i);
  await writer.apply(
    [
      upserted('first.res.ns.v1', text),
      ...filler.map((n) => upserted(`k${(i * 50 + n) % 5000}.res.ns.v1`, `${text} ${'x'.repeat(i % 500)}`)),
      upserted('last.res.ns.v1', text),
    ],
    i,
  );
  if (told === 100) process.send?.('enough');
}
