import { useMeta } from '../../app/meta.ts';
import { awayServices, LiveCard } from '../../front/live-card.tsx';
import { t } from '../../text/text.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { type ListedService, useServiceList } from './service-data.ts';

/** Groups, in their order; services of none of them come last. */
const GROUPS = [
  { title: 'services.groupTime', of: ['time', 'sun', 'moon', 'epoch', 'aerial'] },
  { title: 'services.groupData', of: ['weather', 'forecast', 'forex', 'crypto', 'stock', 'geoip', 'btc'] },
  { title: 'services.groupNumbers', of: ['units', 'base', 'words', 'pi', 'cidr'] },
  { title: 'services.groupChance', of: ['dice', 'coin', 'random', 'uuid'] },
] as const;

/** Names that ask for the present, in place of the examples of these services. */
const NOW: ReadonlyMap<string, string> = new Map([
  ['epoch', 'get.epoch.public.v1'],
  ['moon', 'get.moon.public.v1'],
  ['sun', 'get.london.sun.public.v1'],
]);

/** All services of this server that are on, with an answer of each. */
export function ServicesListScreen() {
  const { value: meta } = useMeta();
  const zone = meta?.zones[0] ?? null;
  const list = useServiceList(zone);
  return (
    <Page title={t('services.title')}>
      <p class="dim">{t('services.intro')}</p>
      {list.state === 'loading' ? <Loading /> : null}
      {list.state === 'failed' ? (
        <>
          <EmptyState title={t('services.none')} text={t('services.noneText')} />
          <ErrorNote error={list.error} again={list.again} />
        </>
      ) : null}
      {list.state === 'ready' && zone !== null ? <Groups services={list.value} zone={zone} /> : null}
    </Page>
  );
}

function Groups({ services, zone }: { readonly services: readonly ListedService[]; readonly zone: string }) {
  const known = new Set<string>(GROUPS.flatMap(({ of }) => of));
  const others = services.map(({ name }) => name).filter((name) => !known.has(name));
  const groups = [...GROUPS, { title: 'services.groupOthers', of: others } as const];
  const away = services.filter(({ name }) => awayServices.value.has(name));
  return (
    <>
      {groups.map(({ title, of }) => {
        const found = of.flatMap((name) =>
          services.filter((service) => service.name === name && !away.includes(service)),
        );
        if (found.length === 0) return null;
        return (
          <section key={title} class="stack" aria-label={t(title)}>
            <h2>{t(title)}</h2>
            <ul class="live five" aria-label={t(title)}>
              {found.map(({ name, title: text, example }) => (
                <LiveCard
                  key={name}
                  service={name}
                  name={NOW.has(name) ? `${NOW.get(name)}.${zone}` : example}
                  title={text}
                  canAsk
                  canGive
                />
              ))}
            </ul>
          </section>
        );
      })}
      {away.length === 0 ? null : (
        <section class="stack" aria-label={t('front.away')}>
          <h2>{t('services.groupAway')}</h2>
          <p class="dim">{t('front.awayWhy')}</p>
          <ul class="services-away" aria-label={t('front.away')}>
            {away.map(({ name, title }) => (
              <li key={name}>
                <a href={`/services/${name}`}>{title}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
