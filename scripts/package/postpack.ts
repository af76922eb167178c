/** After `npm pack`: puts package.json of the checkout back. */
import { fileURLToPath } from 'node:url';
import { restoreManifest } from './checkout-manifest.ts';

restoreManifest(fileURLToPath(new URL('../../', import.meta.url)));
