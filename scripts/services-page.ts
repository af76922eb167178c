/** Writes docs/SERVICES.md below the `<!-- services -->` mark from the descriptions of the services. */
import { readFileSync, writeFileSync } from 'node:fs';
import { allServices } from '../test/support/services/all-services.ts';
import { servicesPage } from '../test/support/services/page.ts';

const PAGE = new URL('../docs/SERVICES.md', import.meta.url);
const MARK = '<!-- services -->\n\n';

const [head] = readFileSync(PAGE, 'utf8').split(MARK);
writeFileSync(PAGE, `${head}${MARK}${servicesPage(allServices())}`);
