/** Writes man/uqrp.1 from the tree of commands and the table of variables. The date changes only with the content. */
import { readFileSync, writeFileSync } from 'node:fs';
import { currentManual } from './manual/current.ts';

const PAGE = new URL('../man/uqrp.1', import.meta.url);

const present = readFileSync(PAGE, { encoding: 'utf8', flag: 'a+' });
const date = /^\.TH UQRP 1 "([\d-]+)"/.exec(present)?.[1] ?? '';
if (present !== currentManual(date))
  writeFileSync(PAGE, currentManual(new Date().toISOString().slice(0, 10)));
