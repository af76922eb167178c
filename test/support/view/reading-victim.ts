/** A process that reads a view, and stands still in the middle of it until it is killed. */
import { openLmdbReader } from '../../../src/view/reader.ts';

const reader = openLmdbReader({ path: process.argv[2]! });
reader.namespace('ns');
process.stdout.write('reading\n');
// No turn of the event loop ends the read.
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
