function json(value: unknown): { readonly json: unknown } {
  return { json: value };
}

/** What people store: texts, flags, settings, states of devices. By the part of the key before the namespace. */
export const SAMPLES: Readonly<Record<string, { readonly text: string } | { readonly json: unknown }>> = {
  greeting: { text: 'hello, world' },
  motd: { text: 'Maintenance on Sunday from 02:00 to 03:00 UTC.' },
  'dark-mode': { text: 'on' },
  checkout: json({ enabled: true, rollout: 25 }),
  limits: json({ requests_per_minute: 600, burst: 50 }),
  endpoints: json({ api: 'https://api.example.com', cdn: 'https://cdn.example.com' }),
  firmware: json({ version: '2.4.1', sha256: '9f86d081884c7d659a2feaa0c55ad015' }),
  'sensor-1.temperature': { text: '21.4' },
  'sensor-2.temperature': { text: '19.8' },
  'pump-1.enabled': { text: 'off' },
  'door-3.status': { text: 'closed' },
  support: { text: 'support@example.com' },
};
