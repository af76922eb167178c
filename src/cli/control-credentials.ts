/** Which feed a command speaks to: the folder of `uqrp feed init`, or the variables. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type ControlCredentials,
  CredentialsError,
  isControl,
  parseCredentials,
} from '../feed/ports/credentials.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { FEED, feedServers } from '../ops/config/feed-env.ts';
import { commandConfig } from './context.ts';
import { InputError, UsageError } from './output.ts';

export interface FeedOption {
  /** Folder of `uqrp feed init`; left out: UQRP_FEED_CREDENTIALS. */
  readonly feed?: string;
}

export interface ControlSettings {
  readonly credentials: ControlCredentials;
  /** `host:port`. */
  readonly servers: readonly string[];
}

/** @throws UsageError when neither is given; InputError for a file that cannot be used */
export function controlSettings({ feed }: FeedOption): ControlSettings {
  if (feed !== undefined) {
    const path = join(resolve(feed), 'control.creds');
    const credentials = readCredentials(path);
    if (!isControl(credentials)) throw new InputError(`${path} is the file of a node`);
    // With UQRP_FEED_URL, a broker behind another address than the one that the folder was made for.
    return { credentials, servers: urlServers() ?? credentials.servers };
  }
  const config = commandConfig();
  if (config.feed?.end === 'control') return config.feed;
  throw new UsageError(
    'give --feed DIR, the folder that uqrp feed init made, or set UQRP_FEED_CREDENTIALS to its control.creds',
  );
}

/** @throws UsageError for a value that is none */
function urlServers(): readonly string[] | null {
  const url = readEnvironment().UQRP_FEED_URL ?? '';
  if (url === '') return null;
  const servers = feedServers(url);
  if (servers === null) throw new UsageError(`UQRP_FEED_URL takes ${FEED.UQRP_FEED_URL.expects}`);
  return servers;
}

function readCredentials(path: string): ReturnType<typeof parseCredentials> {
  try {
    return parseCredentials(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof CredentialsError) throw new InputError(`${path}: ${error.message}`);
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new InputError(
      `${path} cannot be read (${code}): give the folder that uqrp feed init made with --feed`,
    );
  }
}
