/** What the server would refuse in the name of a new namespace, as far as the page can know it. */
export type NameFault = 'length' | 'letter' | 'form' | 'auth';

/** @param limits of `/meta` */
export function nameFault(name: string, limits: Readonly<Record<string, number>>): NameFault | null {
  const { namespace_name_min: min = 3, namespace_name_max: max = 32 } = limits;
  if (name !== '' && !/^[a-z]/.test(name)) return 'letter';
  if (name !== '' && !/^[a-z0-9-]*$/.test(name)) return 'form';
  if (name.length < min || name.length > max) return 'length';
  if (name.endsWith('-')) return 'form';
  return name.startsWith('auth-') ? 'auth' : null;
}
