import { useState } from 'preact/hooks';
import type { DnsMessage, OctetSpan, Section } from '../../../../sdk/src/dns.ts';
import en from '../../text/en.json' with { type: 'json' };
import { t } from '../../text/text.ts';
import { maskText, tokenPlaces } from './masked-name.ts';

const SECTIONS: readonly Section[] = ['header', 'question', 'answer', 'authority', 'additional'];
/** Octets of a field that are shown; more are counted. */
const SHOWN_MAX = 256;

export interface OctetsProps {
  readonly octets: Uint8Array;
  readonly message: DnsMessage | null;
  /** The octet that was changed in this page. */
  readonly changedAt: number | null;
}

/** The octets of the message, a field at a time. Hover and focus say what a field is. */
export function Octets({ octets, message, changedAt }: OctetsProps) {
  const [current, setCurrent] = useState<OctetSpan | null>(null);
  const hidden = tokenPlaces(octets);
  const hex = (from: number, to: number): string => {
    const shown = Array.from(octets.subarray(from, Math.min(to, from + SHOWN_MAX)), (octet, at) =>
      hidden.has(from + at) ? '••' : octet.toString(16).padStart(2, '0'),
    ).join(' ');
    return to - from > SHOWN_MAX ? `${shown} … ${to - from}` : shown;
  };
  return (
    <section class="stack" aria-labelledby="octets">
      <h2 id="octets">{t('playground.octets')}</h2>
      <p class="field-help">{t('playground.octetsHelp')}</p>
      {message === null ? (
        <p class="code wrap">{hex(0, octets.length)}</p>
      ) : (
        SECTIONS.filter((section) => message.spans.some((span) => span.section === section)).map(
          (section) => (
            <div key={section}>
              <h3 class={`oct-${section}`}>{section}</h3>
              <p class="octets code">
                {message.spans
                  .filter((span) => span.section === section)
                  .map((span) => (
                    <button
                      key={span.from}
                      type="button"
                      class={`oct ${isIn(span, changedAt) ? 'changed' : ''}`}
                      title={labelOf(span)}
                      onMouseEnter={() => setCurrent(span)}
                      onFocus={() => setCurrent(span)}
                    >
                      {hex(span.from, span.to)}
                    </button>
                  ))}
              </p>
            </div>
          ),
        )
      )}
      <p class="note octet-note">{current === null ? t('playground.octetsNone') : explanationOf(current)}</p>
    </section>
  );
}

function isIn({ from, to }: OctetSpan, at: number | null): boolean {
  return at !== null && from <= at && at < to;
}

function labelOf({ field, text, from, to }: OctetSpan): string {
  const shown = maskText(text);
  return `${field}: ${shown.length > 80 ? `${shown.slice(0, 80)}…` : shown} (${from}–${to - 1})`;
}

function explanationOf(span: OctetSpan): string {
  const texts: Readonly<Record<string, string>> = en.octets;
  const what = texts[span.field] ?? '';
  return `${labelOf(span)}. ${what}`;
}
