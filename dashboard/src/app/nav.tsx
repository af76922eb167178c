import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Icon, MoreIcon } from '../ui/icon.tsx';
import { useNavLinks } from './nav-links.ts';
import { place } from './router.ts';

/** The navigation: at the side, and on phones at the bottom. */
export function Nav() {
  const [isOpen, setOpen] = useState(false);
  const { pathname } = place.value;
  useEffect(() => setOpen(false), [pathname]);
  const links = useNavLinks();
  return (
    <nav class={`nav ${isOpen ? 'open' : ''}`} aria-label={t('nav.main')}>
      <ul>
        {links.map(({ path, text, icon, isApart, isOnPhones, with: other }) => (
          <li key={path} class={`${isOnPhones ? '' : 'rest'} ${isApart ? 'apart' : ''}`}>
            <a href={path} aria-current={isWithin(pathname, path) || pathname === other ? 'page' : undefined}>
              <Icon of={icon} />
              {t(text)}
            </a>
          </li>
        ))}
      </ul>
      <button type="button" class="more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon of={MoreIcon} />
        {t('nav.more')}
      </button>
    </nav>
  );
}

function isWithin(pathname: string, path: string): boolean {
  return pathname === path || (path !== '/' && pathname.startsWith(`${path}/`));
}
