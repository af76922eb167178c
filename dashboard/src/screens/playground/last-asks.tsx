import { decodeMessage, rcodeName } from '../../../../sdk/src/dns.ts';
import { milliseconds } from '../../format/format.ts';
import { maskText } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import type { Arrived } from './asked.ts';
import { headlineOf } from './headline.ts';

export interface LastAsksProps {
  /** The newest first. */
  readonly asks: readonly Arrived[];
  readonly shown: Arrived | null;
  readonly compared: Arrived | null;
  readonly onShow: (arrived: Arrived) => void;
  /** Null: compare no more. */
  readonly onCompare: (arrived: Arrived | null) => void;
}

/** What was asked since the page was opened. An old answer is shown as it came, and can be compared with the shown one. */
export function LastAsks({ asks, shown, compared, onShow, onCompare }: LastAsksProps) {
  return (
    <section aria-labelledby="last-asks" class="stack">
      <h2 id="last-asks">{t('playground.lastAsks')}</h2>
      <ul class="last-asks">
        {asks.map((one) => {
          const name = maskText(one.asked.name);
          const isShown = one.id === shown?.id;
          return (
            <li key={one.id} class={isShown ? 'current' : ''}>
              <button type="button" class="ask-again" aria-pressed={isShown} onClick={() => onShow(one)}>
                <span class="code">
                  {name} {one.asked.type === 'TXT' ? '' : one.asked.type}
                </span>
                <small class="dim">{summaryOf(one)}</small>
              </button>
              {isShown ? null : (
                <Button
                  tone="quiet"
                  isPressed={one.id === compared?.id}
                  label={t('playground.compareWith', { name })}
                  onClick={() => onCompare(one.id === compared?.id ? null : one)}
                >
                  {t('playground.compare')}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function summaryOf({ octets, times }: Arrived): string {
  try {
    const message = decodeMessage(octets);
    return `${rcodeName(message.rcode)} · ${headlineOf(message).headline} · ${milliseconds(times[0])}`;
  } catch {
    return t('playground.noMessage');
  }
}
