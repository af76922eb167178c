import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/time.ts';
import { type CommandLine, type Config, loadConfig } from '../../ops/config/config.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { createLog } from '../../ops/telemetry/log.ts';
import { type ServerPorts, serve } from '../../process/main.ts';
import { forBrowsers, inUrl, reachable } from '../address.ts';
import { EXIT, goOnWithoutReader, print, shellWord } from '../output.ts';
import type { Signals } from '../signals.ts';

/** Milliseconds. A stop that takes longer is cut short, with exit code 1: the store is safe at any moment. */
const STOP_LIMIT_MS = 9500;

/** As a person types it: `npm start` is of a checkout, where no program of this name is installed. */
const COMMAND = readEnvironment().npm_lifecycle_event === undefined ? 'uqrp' : 'npm run -s uqrp --';

/** Runs the server until SIGTERM or SIGINT, also during the start. SIGHUP reads the certificate again. */
export async function serveCommand(
  clock: Clock,
  json: boolean,
  line: CommandLine,
  signals: Signals,
): Promise<void> {
  const config = loadConfig(readEnvironment(), line);
  const log = createLog({ clock, format: config.logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json') });
  nameProcess();
  // The server runs on when the reader of its output ends.
  goOnWithoutReader();
  signals.stop.addEventListener('abort', () => {
    setTimeout(() => process.exit(EXIT.failed), STOP_LIMIT_MS).unref();
  });
  const server = await serve(config, clock, log, signals.stop).catch((error: unknown) => {
    if (signals.stop.aborted) return null;
    log.event('server.failed', {}, error);
    throw error;
  });
  if (server === null) {
    log.event('server.stopping', { signal: signals.received()! });
    log.event('server.stopped', { seconds: 0 });
    // A connection to the database may still be waited for.
    process.exit(EXIT.ok);
  }
  print(
    json ? JSON.stringify({ ports: server.ports, data_dir: config.dataDir }) : summary(config, server.ports),
  );
  signals.onHangup(() => void server.reloadTls());
  if (!signals.stop.aborted) await once(signals.stop, 'abort');
  log.event('server.stopping', { signal: signals.received()! });
  const stoppedAt = clock();
  await server.stop();
  log.event('server.stopped', { seconds: (clock() - stoppedAt) / 1000 });
}

/** In `ps -o comm`, `top` and `ss -p`, where Node has "MainThread". Its command line stays. */
function nameProcess(): void {
  try {
    writeFileSync('/proc/self/comm', 'uqrp');
  } catch {
    // Only Linux has it.
  }
}

/** What a person needs next: where it listens, two lines that work as pasted, where the data directory is, how to get a token. */
function summary(config: Config, ports: ServerPorts): string {
  const host = reachable(config.host);
  const url = inUrl(host);
  const rest = `http://${inUrl(forBrowsers(config.httpHost))}:${ports.http}`;
  const zone = config.zones[0];
  const lines = ['', `uqrp serves ${config.zones.join(', ')}`, ''];
  if (config.role !== 'edge') lines.push(`  open   ${config.publicUrl ?? rest}/`, `  REST   ${rest}/api/v1`);
  lines.push(`  health ${rest}/readyz`);
  if (config.metrics !== null) {
    lines.push(`  metrics http://${inUrl(reachable(config.metrics.host))}:${ports.metrics}/metrics`);
  }
  if (ports.dns !== null) {
    lines.push(
      `  DNS    ${host} port ${ports.dns}, UDP and TCP`,
      `  DoT    ${host} port ${ports.dot}`,
      `  DoH    https://${url}:${ports.doh}/dns-query and /resolve`,
      '',
      `  dig @${host} -p ${ports.dns} TXT get.100-km-to-mi.units.public.v1.${zone} +short`,
      `  curl --cacert ${shellWord(certificate(config))} 'https://${url}:${ports.doh}/resolve?name=${zone}&type=SOA'`,
    );
  }
  lines.push('', `  data   ${config.databaseUrl === null ? config.dataDir : 'PostgreSQL'}`);
  if (config.role !== 'edge') {
    lines.push(
      `  record ${COMMAND} put greeting.acme.v1 'hello world' --user you@example.net --public-read`,
      `  token  TOKEN=$(${COMMAND} user token you@example.net)`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function certificate(config: Config): string {
  return config.tls?.cert ?? join(config.dataDir, 'tls', 'cert.pem');
}
