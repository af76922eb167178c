/** Starts the dashboard. */
import { render } from 'preact';
import { takeInvitation } from './app/invitation.ts';
import { startOffline } from './app/offline.ts';
import { leaveToServer, startRouter } from './app/router.ts';
import { followSession, isLandingOn, startSession } from './app/session.ts';
import { Shell } from './app/shell.tsx';
import { startShortcuts } from './app/shortcuts.ts';
import { applyTheme } from './app/theme.ts';
import { refetchAll, startRefetching } from './data/resource.ts';

applyTheme();
takeInvitation();
addEventListener('hashchange', takeInvitation);
leaveToServer((pathname) => pathname === '/' && isLandingOn());
startRouter();
startShortcuts();
startRefetching();
startOffline(refetchAll);
followSession();
void startSession();
const app = document.getElementById('app');
if (app !== null) render(<Shell />, app);
