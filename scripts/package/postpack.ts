/** After `npm pack`: puts package.json of the checkout back. */
import { fileURLToPath } from 'node:url';
import { restoreManifest } from './manifest.ts';

restoreManifest(fileURLToPath(new URL('../../', import.meta.url)));
