/** `uqrp serve --json` without usage and query log, for the comparison of bench/accounting.ts. */
import { once } from 'node:events';
import { loadConfig } from '../../src/ops/config/config.ts';
import { readEnvironment } from '../../src/ops/config/env.ts';
import { createLog } from '../../src/ops/telemetry/log.ts';
import { serve } from '../../src/process/main.ts';

const config = loadConfig(readEnvironment(), { acceptNewStore: false });
const log = createLog({ clock: Date.now, format: 'json' });
const server = await serve(config, Date.now, log, undefined, { counts: false });
process.stdout.write(`${JSON.stringify({ ports: server.ports })}\n`);
await once(process, 'SIGTERM');
await server.stop();
