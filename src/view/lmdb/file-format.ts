import { endianness } from 'node:os';
import { LAYOUT_VERSION, PAGE_SIZE } from './tree.ts';

/** What two processes must have in common to read the same file. Architectures of Node with integers of 32 bits are these. */
const NARROW: readonly string[] = ['arm', 'ia32', 'mips', 'mipsel', 'ppc', 's390'];

export const FILE_FORMAT = {
  layout: LAYOUT_VERSION.replace(' ', '-'),
  pageSize: PAGE_SIZE,
  machine: `${endianness().toLowerCase()}${NARROW.includes(process.arch) ? 32 : 64}`,
} as const;
