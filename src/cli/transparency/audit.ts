/** `uqrp log audit`: a monitor of a transparency log. It trusts its policy file alone, and keeps what it saw in a folder. */
import { spawn } from 'node:child_process';
import { removeDrafts } from '../../base/drafts.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { isSlug } from '../../protocol/datasets/query.ts';
import { RCODE, RRTYPE, rcodeName } from '../../protocol/dns/codes.ts';
import { txtValue } from '../../protocol/dns/rdata/rdata.ts';
import { isQuorum, type PolicyLog, type TrustPolicy } from '../../protocol/transparency/policy.ts';
import { askTxt, type QueryOptions, targetOf } from '../actions/query.ts';
import { commandConfig } from '../context.ts';
import { EXIT, escapeControls, print } from '../output.ts';
import { octetsOfFile, policyOf } from '../policy-file.ts';
import type { Signals } from '../signals.ts';
import { withUmask } from '../umask.ts';
import { type Alarm, evidenceName } from './monitor/alarms.ts';
import { createMonitor, type LogEvent, type Monitor } from './monitor/monitor.ts';
import type { ServedSources } from './monitor/served.ts';
import { readBelow, servedDatasets, witnessesThere } from './monitor/sources.ts';
import { openStateFolder } from './monitor/state-folder.ts';

export interface LogAuditOptions extends Pick<QueryOptions, 'server' | 'port'> {
  readonly policy: string;
  readonly state: string;
  readonly slug?: string;
  readonly every?: string;
  readonly compare?: string;
  readonly exec?: string;
  readonly url?: string;
  /** Of the shell: the command of --exec gets it. */
  readonly umask?: number | undefined;
}

const EXEC_MS = 60_000;

/** One round, or with --every rounds until SIGTERM: exit code 1 after an alarm, or where something could not be checked. */
export async function logAudit(
  clock: Clock,
  options: LogAuditOptions,
  json: boolean,
  signals: Signals,
): Promise<void> {
  const monitor = openMonitor(clock, options, json, signals.stop);
  const everyMs = options.every === undefined ? null : 1000 * secondsOf(options.every);
  for (;;) {
    try {
      if ((await monitor.round()) > 0) process.exitCode = EXIT.failed;
    } catch (error) {
      if (signals.stop.aborted) break;
      if (!(error instanceof InputError) || everyMs === null) throw error;
      process.exitCode = EXIT.failed;
      process.stderr.write(`${escapeControls(error.message)}\n`);
    }
    if (everyMs === null || signals.stop.aborted) break;
    await pauseUntil(everyMs, signals.stop);
  }
}

function openMonitor(clock: Clock, options: LogAuditOptions, json: boolean, stop: AbortSignal): Monitor {
  const { slug = null } = options;
  if (slug !== null && !isSlug(slug)) throw new UsageError('--slug takes the slug of a dataset');
  const policy = policyOf(options.policy);
  const { log, url } = logOf(policy, options.url);
  const state = openStateFolder(options.state, LIMITS.monitorEvidence);
  removeDrafts(options.state, clock());
  const txt = txtOf(options);
  if (txt === null) process.stderr.write('note: DNS answers are not compared without --server or --port\n');

  function tell(event: LogEvent): void {
    const { news, number } = event;
    const about = 'kid' in event ? { kid: event.kid } : { slug: event.slug, version: event.version };
    const line = [news, ...Object.values(about), 'entry', number].join(' ');
    print(json ? JSON.stringify({ event: news, ...about, entry: number }) : escapeControls(line));
  }

  /** Keeps the evidence, prints the line, and runs the command of the operator: also where the evidence cannot be kept. */
  async function raise(one: Alarm): Promise<void> {
    const kept = keepEvidence(one);
    const folder = kept instanceof InputError ? null : kept;
    const shown = { alarm: one.code, slug: one.slug, text: one.text, evidence: folder };
    const missing = kept === null ? 'there is too much of it' : 'it cannot be written';
    const where = folder ?? `not kept, ${missing}`;
    print(
      json ? JSON.stringify(shown) : escapeControls(`alarm ${one.code}: ${one.text} (evidence: ${where})`),
    );
    if (options.exec !== undefined) await runCommand(options.exec, JSON.stringify(shown), options.umask);
    if (kept instanceof InputError) throw kept;
  }

  function keepEvidence(one: Alarm): string | null | InputError {
    try {
      return state.keepEvidence(evidenceName(one), one.evidence);
    } catch (error) {
      if (error instanceof InputError) return error;
      throw error;
    }
  }

  const remark = (text: string): void => void process.stderr.write(`note: ${text}\n`);
  let isCached = false;

  return createMonitor({
    log,
    policy,
    state,
    now: clock,
    pause: (ms) => pauseUntil(ms, stop),
    read: (path, max) => readBelow(`${url}/${path}`, max, stop),
    sources: {
      txt,
      async datasets() {
        isCached = false;
        const served = await servedDatasets(url, stop, () => {
          isCached = true;
        });
        if (served === null) remark('there is no GET /api/v1/datasets to compare');
        return served;
      },
      isCached: () => isCached,
    },
    async areWitnessesThere() {
      const { witnesses } = policy;
      return isQuorum(policy, await witnessesThere(witnesses, log.key.name, stop));
    },
    remark,
    slug,
    note: options.compare === undefined ? null : octetsOfFile(options.compare).toString(),
    tell,
    raise,
  });
}

/** The log to watch, and where it is, without a slash at the end. */
export function logOf({ logs }: TrustPolicy, given: string | undefined): { log: PolicyLog; url: string } {
  const log =
    logs.find(({ url }) => url !== null && url === given) ?? (logs.length === 1 ? logs[0] : undefined);
  if (log === undefined)
    throw new UsageError('the policy must have one log line, or --url that of one of them');
  const url = given ?? log.url;
  if (url === null) throw new UsageError('the log line of the policy has no URL: give --url');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`${escapeControls(url)} is not an http or https URL`);
  return { log, url: url.replace(/\/+$/, '') };
}

/** Null: neither the options nor the environment name a name server. */
function txtOf(options: LogAuditOptions): ServedSources['txt'] {
  const config = commandConfig();
  const { UQRP_HOST, UQRP_DNS_PORT } = readEnvironment();
  const named = [options.server, options.port, UQRP_HOST, UQRP_DNS_PORT];
  if (named.every((value) => value === undefined || value === '')) return null;
  const target = targetOf(options, config);
  return async (label) => {
    const name = `manifest.${label}.datasets.public.v1.${config.zones[0]}`;
    const reply = await askTxt(name, target);
    if (reply.rcode !== RCODE.NOERROR && reply.rcode !== RCODE.NXDOMAIN)
      throw new InputError(`the name server answers ${rcodeName(reply.rcode)} to ${name}`);
    return reply.answer.flatMap(({ type, rdata }) => {
      const value = type === RRTYPE.TXT ? txtValue(rdata) : null;
      return value === null ? [] : [value];
    });
  };
}

/** Runs the operator's command with the alarm as JSON on its standard input. It must end within a minute. */
function runCommand(command: string, input: string, umask: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    const child = withUmask(umask, () =>
      spawn('sh', ['-c', command], {
        stdio: ['pipe', 'inherit', 'inherit'],
        timeout: EXEC_MS,
        // It may ignore others.
        killSignal: 'SIGKILL',
      }),
    );
    child.once('error', () => resolve());
    child.once('exit', (code) => {
      if (code !== 0) process.stderr.write(`the command of --exec ended with ${code ?? 'a signal'}\n`);
      resolve();
    });
    child.stdin.on('error', () => {});
    child.stdin.end(`${input}\n`);
  });
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 86_400)
    throw new UsageError('--every takes 1 to 86400 seconds');
  return seconds;
}

function pauseUntil(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stop.addEventListener('abort', end);
    if (stop.aborted) end();
  });
}
