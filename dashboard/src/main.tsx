/** Starts the dashboard. */
import { render } from 'preact';
import { startOffline } from './app/offline.ts';
import { startRouter } from './app/router.ts';
import { followSession, startSession } from './app/session.ts';
import { Shell } from './app/shell.tsx';
import { startShortcuts } from './app/shortcuts.ts';
import { applyTheme } from './app/theme.ts';
import { refetchAll, startRefetching } from './data/resource.ts';

applyTheme();
startRouter();
startShortcuts();
startRefetching();
startOffline(refetchAll);
followSession();
void startSession();
const app = document.getElementById('app');
if (app !== null) render(<Shell />, app);
