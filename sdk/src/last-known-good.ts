/** Last known good files, for the command line. In the package `Reader` of `uqrp-sdk/dns` uses them. */
export { readKnownGood, removeDrafts, removeKnownGood, writeKnownGood } from './last-known-good/file.ts';
export {
  type KnownAnswers,
  type KnownEntry,
  openKnownGood,
  sealKnownGood,
} from './last-known-good/format.ts';
