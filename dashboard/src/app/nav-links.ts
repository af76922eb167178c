import { useMeta } from './meta.ts';
import { NAV_LINKS, type NavLink } from './routes.ts';

/** The places of the navigation that this server has. */
export function useNavLinks(): readonly NavLink[] {
  const { value: meta } = useMeta();
  return NAV_LINKS.filter(({ path }) => {
    if (path === '/datasets') return meta?.features.datasets === true;
    return path !== '/organization' || meta?.features.organizations === true;
  });
}
