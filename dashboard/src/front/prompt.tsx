import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { AnswerPanel, useQuestion } from './answer-panel.tsx';
import { Commands, type CommandsProps } from './commands.tsx';
import { awayServices } from './live-card.tsx';
import { typedName } from './typed-name.ts';

export interface PromptProps extends Pick<CommandsProps, 'dns'> {
  readonly zones: readonly string[];
}

type Chip = readonly [name: string, text: string];

/** Names to try, below the zone, and how they are called. Those that others have to answer for are last. */
function chipsOf(year: number): readonly Chip[] {
  return [
    ['get.100-km-to-mi.units.public.v1', t('front.chipUnits')],
    ['get.tokyo.time.public.v1', t('front.chipTime')],
    [`get.${year}-06-21.london.sun.public.v1`, t('front.chipSun')],
    ['get.2d6p1.dice.public.v1', t('front.chipDice')],
    ['get.10-0-0-0-8.cidr.public.v1', t('front.chipCidr')],
    ['geoip.ip-8-8-8-8.public.v1', t('front.chipGeoip')],
    ['get.london.weather.public.v1', t('front.chipWeather')],
    ['get.eur-usd.forex.public.v1', t('front.chipForex')],
  ];
}

/** In place of those that have no answer now. */
const SPARE_CHIPS: readonly Chip[] = [
  ['get.2042.words.public.v1', t('front.chipWords')],
  ['get.uuid.public.v1', t('front.chipUuid')],
  ['get.coin.public.v1', t('front.chipCoin')],
];

function chipsNow(year: number, away: ReadonlySet<string>): readonly Chip[] {
  const spares = [...SPARE_CHIPS];
  return chipsOf(year).map((chip) =>
    away.has(/(\w+)\.public\.v1$/.exec(chip[0])?.[1] ?? '') ? (spares.shift() ?? chip) : chip,
  );
}

/** A name, its answer, and the same question for a terminal. It asks the first one by itself. */
export function Prompt({ zones, dns }: PromptProps) {
  const zone = zones[0] ?? '';
  const chips = chipsNow(new Date().getUTCFullYear(), awayServices.value);
  const [name, setName] = useState(`${chips[0]![0]}.${zone}`);
  const [asked, setAsked] = useState(name);
  const { state, ask } = useQuestion(zones);
  const askFor = (text: string): void => {
    const wanted = typedName(text, zone);
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
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            askFor(name);
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
        <AnswerPanel state={state} zones={zones} />
      </div>
      <div class="chips prompt-chips" role="group" aria-label={t('front.chips')}>
        {chips.map(([below, text], at) => (
          <button
            key={at}
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
