/** Starts the first page of visitors. Its text comes ready from the server; this puts the parts that ask into it. */
import { render } from 'preact';
import { applyTheme } from '../app/theme.ts';
import { ThemeButton } from '../app/theme-button.tsx';
import { Live } from './live-cards.tsx';
import { Prompt } from './prompt.tsx';

const { zones = '', dns = '' } = document.documentElement.dataset;

applyTheme();
// The page of a session that has ended leads here by this address: a reload must show who is signed in.
if (location.search !== '') history.replaceState(null, '', '/');
const facts = { zones: zones.split(' '), dns: endpointOf(dns) };
put('theme', <ThemeButton />);
put('prompt', <Prompt {...facts} />);
put('live', <Live zone={facts.zones[0] ?? ''} />);

/** @param text `HOST PORT`; empty: no plain DNS in this process */
function endpointOf(text: string): { readonly host: string; readonly port: number } | null {
  const [host = '', port = ''] = text.split(' ');
  return host === '' ? null : { host, port: Number(port) };
}

function put(id: string, part: Parameters<typeof render>[0]): void {
  const place = document.getElementById(id);
  if (place !== null) render(part, place);
}
