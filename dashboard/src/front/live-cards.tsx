/** The wall of cards: what some of the services of this server say now. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { DiceIcon, Icon } from '../ui/icon.tsx';
import { answerWords } from './answer-panel.tsx';
import { askServer, type FrontAnswer } from './ask-server.ts';

interface Card {
  readonly service: string;
  /** Below the zone. */
  readonly name: string;
  readonly title: string;
}

/** The first ones that are on are shown. */
const CARDS: readonly Card[] = [
  { service: 'time', name: 'get.tokyo.time.public.v1', title: t('front.cardTime') },
  { service: 'weather', name: 'get.london.weather.public.v1', title: t('front.cardWeather') },
  { service: 'dice', name: 'get.2d6p1.dice.public.v1', title: t('front.cardDice') },
  { service: 'moon', name: 'get.moon.public.v1', title: t('front.cardMoon') },
  { service: 'aerial', name: 'get.london.tokyo.aerial.public.v1', title: t('front.cardAerial') },
  { service: 'forex', name: 'get.eur-usd.forex.public.v1', title: t('front.cardForex') },
  { service: 'sun', name: 'get.london.sun.public.v1', title: t('front.cardSun') },
  { service: 'crypto', name: 'get.btc-usd.crypto.public.v1', title: t('front.cardCrypto') },
  { service: 'words', name: 'get.2042.words.public.v1', title: t('front.cardWords') },
  { service: 'uuid', name: 'get.uuid.public.v1', title: t('front.cardUuid') },
  { service: 'coin', name: 'get.coin.public.v1', title: t('front.cardCoin') },
];
const SHOWN = 8;
/** Characters above which a value has smaller letters. */
const LONG = 18;
/** Milliseconds before a service that is still fetching is asked again, once. */
const AGAIN_MS = 3000;

/** Names of the services that are on; null: the server does not say. */
async function servicesOn(zone: string): Promise<ReadonlySet<string> | null> {
  const { data } = await askServer(`info.services.public.v1.${zone}`);
  return data === null ? null : new Set(Object.keys(JSON.parse(data) as object));
}

/** Services that the page has found to be away. */
export const awayServices = signal<ReadonlySet<string>>(new Set());

/** A card whose service is away gives its place to the first one that is not shown, so that no other card moves. */
export function Live({ zone }: { readonly zone: string }) {
  const [on, setOn] = useState<ReadonlySet<string> | null>(null);
  useEffect(() => {
    servicesOn(zone).then(setOn, () => undefined);
  }, [zone]);
  const all = CARDS.filter(({ service }) => on === null || on.has(service));
  const spares = all.slice(SHOWN).filter(({ service }) => !awayServices.value.has(service));
  const cards = all
    .slice(0, SHOWN)
    .map((card) => (awayServices.value.has(card.service) ? (spares.shift() ?? card) : card));
  return (
    <>
      {cards.map((card) => (
        <LiveCard
          key={card.service}
          onAway={() => (awayServices.value = new Set([...awayServices.value, card.service]))}
          service={card.service}
          name={`${card.name}.${zone}`}
          title={card.title}
          canAsk={on !== null}
        />
      ))}
    </>
  );
}

export interface LiveCardProps {
  readonly service: string;
  /** A full query name. */
  readonly name: string;
  /** Default: what the answer says of itself. */
  readonly title?: string;
  /** Default: the page of the service. */
  readonly href?: string;
  readonly canAsk: boolean;
  /** It was asked twice, and has no answer now. Until then it does not say so. */
  readonly onAway?: () => void;
}

/** A service, and what it says now. */
export function LiveCard({
  service,
  name,
  title,
  href = `/services/${service}`,
  canAsk,
  onAway,
}: LiveCardProps) {
  const [answer, setAnswer] = useState<FrontAnswer | 'none' | null>(null);
  const [isAgain, setAgain] = useState(false);
  const [wasAsked, setAsked] = useState(false);
  const ask = (): Promise<void> => askServer(name).then(setAnswer, () => setAnswer('none'));
  useEffect(() => {
    if (!canAsk) return;
    void ask();
    const timer = setTimeout(() => setAgain(true), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [canAsk, name]);
  const isAway = answer !== null && answer !== 'none' && answer.problem === 'away';
  useEffect(() => {
    if (isAgain && isAway && !wasAsked) void ask().then(() => setAsked(true));
  }, [isAgain, isAway]);
  useEffect(() => {
    if (wasAsked && isAway) onAway?.();
  }, [wasAsked, isAway]);
  const isPending = isAway && onAway !== undefined && !wasAsked;
  return (
    <li class="live-card">
      <a href={href}>
        {title === undefined ? null : <span class="live-title">{title}</span>}
        <span class="live-value" aria-live={service === 'dice' ? 'polite' : undefined}>
          {isPending || answer === null ? '\u00a0' : <LiveValue service={service} answer={answer} />}
        </span>
        <code class="live-name">{name.replace(/\.public\.v1\..*$/, '')}</code>
      </a>
      {service === 'dice' ? (
        <Button tone="quiet" label={t('front.again')} title={t('front.again')} onClick={() => void ask()}>
          <Icon of={DiceIcon} />
        </Button>
      ) : null}
    </li>
  );
}

function LiveValue({ service, answer }: { readonly service: string; readonly answer: FrontAnswer | 'none' }) {
  if (answer === 'none' || answer.problem !== null) return <span class="dim">{t('front.away')}</span>;
  const offset = answer.fields?.get('off');
  if (service === 'time' && offset !== undefined)
    return (
      <>
        <Clock iso={answer.fields?.get('iso') ?? ''} offset={Number(offset)} />
        <span class="live-detail">{answer.fields?.get('loc')}</span>
      </>
    );
  const { headline, detail } = answerWords(answer);
  if (service === 'dice') return <>{`${sumOf(answer.fields)}${headline}`}</>;
  return (
    <>
      <span class={headline.length > LONG ? 'live-long' : undefined}>{headline}</span>
      <span class="live-detail">{detail}</span>
    </>
  );
}

/** `3 5` of `2d6+1` is 3 + 5 + 1 = ; a single die needs no sum. */
function sumOf(fields: FrontAnswer['fields']): string {
  const plus = /[+-]\d+$/.exec(fields?.get('dice') ?? '')?.[0] ?? '';
  const rolls = (fields?.get('rolls') ?? '').replaceAll(' ', ' + ');
  if (plus === '' && /^\d*$/.test(rolls)) return '';
  return `${rolls}${plus.replace(/^[+-]/, (sign) => (sign === '+' ? ' + ' : ' − '))} = `;
}

const SECOND = 1000;

/** The time that the server gave, which goes on. @param offset seconds east of UTC */
function Clock({ iso, offset }: { readonly iso: string; readonly offset: number }) {
  // The clock of this machine may be wrong, so only its steps count.
  const [began] = useState(() => Date.parse(iso) - performance.now());
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), SECOND);
    return () => clearInterval(timer);
  }, []);
  return <span>{new Date(began + now + offset * SECOND).toISOString().slice(11, 19)}</span>;
}
