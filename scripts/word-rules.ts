/**
 * Words that this project does not use, or uses in one sense only (docs/GLOSSARY.md has the senses). structure-report.ts
 * counts them; `npm run check:words` fails on any that stands outside its allowed paths.
 */
export interface WordRule {
  /** Matched without regard to case, in comments, names, strings and pages. */
  readonly word: RegExp;
  /** What to write instead. */
  readonly instead: string;
  /** Paths from the project's root where the word has its one sense. */
  readonly allowed?: RegExp;
}

/** Records of what was: they quote old names and other people's words. */
export const NOT_READ = /^docs\/findings-|^docs\/adr\/|^CHANGELOG|^scripts\/word-rules|^docs\/GLOSSARY/;

export const WORD_RULES: readonly WordRule[] = [
  { word: /\bjudg(?:e|es|ed|ing)\b|\bjudge[A-Z]/i, instead: 'check, classify or decide' },
  {
    word: /\bverdicts?\b|[a-z]Verdict|\bVerdict/,
    instead: 'a name by content: HeaderDecision, RetryDecision',
  },
  { word: /\bkeepers?\b|Keeper\b/i, instead: 'what it does' },
  { word: /\bdesks?\b|Desk\b/, instead: 'what it does' },
  { word: /\bhubs?\b|(?<!Git)Hub\b/, instead: 'provider client' },
  { word: /\bdoors?\b|Door\b/, instead: 'outbound client' },
  { word: /\balarms?\b|Alarm\b/, instead: 'Waker' },
  { word: /\bwings?\b|Wing\b/, instead: 'control side or edge side, or role' },
  { word: /\bstamps?\b|Stamps?\b/, instead: 'freshness counter, layout version or file state' },
  { word: /\bgates?\b|Gates?\b/, instead: 'access check', allowed: /^test\/support\/|\.test\.ts$/ },
  {
    word: /\b(?:heart)?beats?\b/i,
    instead: 'lease renewal',
    // The heartbeat of the feed.
    allowed: /^docs\/|^(?:src|test)\/.*(?:feed|node|bus)|^test\/(?:e2e|ci|simulation)\//,
  },
  {
    word: /\bseal(?:s|ed|ing|er)?\b/i,
    instead: 'encrypt',
    // HPKE's word for a message to one recipient (RFC 9180 §5.2); and names that data has: the member `sealed` of a stored key set, and the
    // file sealed-keys.json.
    allowed:
      /^src\/feed\/(?:batch|keys)\/|^src\/dns\/dnssec\/keys\/key-encryption|earlier-format\.ts$|^src\/process\/node\/(?:shared-keys|first-keys\.test)\.ts$|^docs\/OPERATIONS\.md$|^test\/e2e\/shared-keys/,
  },
  { word: /\bwhoever\b|\bwhomever\b|\bwhom\b/i, instead: 'the named actor' },
  { word: /\bfor want of\b|\bthereof\b|\bthereby\b|\bherein\b|\bwherein\b/i, instead: 'because, of it, so' },
  { word: /\bfor ever\b/i, instead: 'without limit' },
  { word: /\banew\b/i, instead: 'again' },
  { word: /\bgoodbyes?\b|\bgifts?\b|\briddl/i, instead: 'the fact' },
  { word: /\bin the box\b/i, instead: 'that ships with the package' },
  { word: /\bsuch as came\b|\bor ever\b|\bcannot be had\b/i, instead: 'plain words' },
  { word: /\bthe specification\b|\bdecisions, section\b/i, instead: 'a page of docs/, an RFC, or nothing' },
];
