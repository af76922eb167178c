import { useEffect, useState } from 'preact/hooks';
import { hasTokenLabel } from '../screens/playground/masked-name.ts';
import { snippetsOf } from '../screens/playground/snippets.ts';
import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code-block.tsx';
import { AnswerPanel, useQuestion } from './answer-panel.tsx';

export interface PromptProps {
  readonly zones: readonly string[];
  /** Of plain DNS; null where this server has none. */
  readonly dns: { readonly host: string; readonly port: number } | null;
}

/** Names to try, below the zone, and how they are called. */
function chipsOf(year: number): readonly (readonly [name: string, text: string])[] {
  return [
    ['get.100-km-to-mi.units.public.v1', t('front.chipUnits')],
    ['get.london.weather.public.v1', t('front.chipWeather')],
    ['get.tokyo.time.public.v1', t('front.chipTime')],
    [`get.${year}-06-21.london.sun.public.v1`, t('front.chipSun')],
    ['get.2d6p1.dice.public.v1', t('front.chipDice')],
    ['get.10-0-0-0-8.cidr.public.v1', t('front.chipCidr')],
    ['geoip.ip-8-8-8-8.public.v1', t('front.chipGeoip')],
    ['get.eur-usd.forex.public.v1', t('front.chipForex')],
  ];
}

/** A name, its answer, and the same question for a terminal. It asks the first one by itself. */
export function Prompt({ zones, dns }: PromptProps) {
  const zone = zones[0] ?? '';
  const chips = chipsOf(new Date().getUTCFullYear());
  const [name, setName] = useState(`${chips[0]![0]}.${zone}`);
  const [asked, setAsked] = useState(name);
  const { state, ask } = useQuestion(zones);
  const askFor = (wanted: string): void => {
    setName(wanted);
    setAsked(wanted);
    ask(wanted);
  };
  useEffect(() => ask(name), []);
  return (
    <>
      <div class="terminal">
        <form
          class="prompt"
          onSubmit={(event) => {
            event.preventDefault();
            askFor(name.trim());
          }}
        >
          <label for="prompt-name">
            dig TXT <span class="hidden">{t('playground.name')}</span>
          </label>
          <input
            id="prompt-name"
            class="code"
            aria-label={t('playground.name')}
            value={name}
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            required
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Button type="submit" tone="primary">
            {t('playground.ask')}
          </Button>
        </form>
        <AnswerPanel state={state} />
      </div>
      <div class="chips prompt-chips" role="group" aria-label={t('front.chips')}>
        {chips.map(([below, text]) => (
          <button
            key={below}
            type="button"
            class="chip"
            aria-pressed={asked === `${below}.${zone}`}
            onClick={() => askFor(`${below}.${zone}`)}
          >
            {text}
          </button>
        ))}
      </div>
      <Commands name={asked} dns={dns} />
    </>
  );
}

/** Not for a name with a token: it would be copied into histories and logs. */
export function Commands({ name, dns }: Pick<PromptProps, 'dns'> & { readonly name: string }) {
  const all = hasTokenLabel(name)
    ? []
    : snippetsOf(
        { name, type: 'TXT', dnssecOk: false, checkingDisabled: false },
        { dns, origin: location.origin },
      );
  const shown = all.filter(({ name: tool }) => (tool === 'dig' && dns !== null) || tool === 'curl');
  return (
    <div class="prompt-commands">
      {shown.map(({ name: tool, code }) => (
        <CodeBlock key={tool} code={code} label={tool} />
      ))}
    </div>
  );
}
