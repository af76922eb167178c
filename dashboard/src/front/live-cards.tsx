/** The wall of cards: what some of the services of this server say now. */
import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { askServer } from './ask-server.ts';
import { awayServices, LiveCard } from './live-card.tsx';

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

/** Names of the services that are on; null: the server does not say. */
async function servicesOn(zone: string): Promise<ReadonlySet<string> | null> {
  const { data } = await askServer(`info.services.public.v1.${zone}`);
  return data === null ? null : new Set(Object.keys(JSON.parse(data) as object));
}

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
          canGive
          service={card.service}
          name={`${card.name}.${zone}`}
          title={card.title}
          canAsk={on !== null}
        />
      ))}
    </>
  );
}
