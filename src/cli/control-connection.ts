/** Which feed a command speaks to: the folder of `uqrp feed init`, or the variables. */
import { UsageError } from '../base/errors.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { FEED, feedServers } from '../ops/config/variables.ts';
import { type ControlSettings, settingsOfFolder } from '../process/operator/feed-control.ts';
import { commandConfig } from './context.ts';

export interface FeedOption {
  /** Folder of `uqrp feed init`; left out: UQRP_FEED_CREDENTIALS. */
  readonly feed?: string;
}

/** @throws UsageError when neither is given; InputError for a file that cannot be used */
export function controlSettings({ feed }: FeedOption): ControlSettings {
  if (feed !== undefined) {
    const settings = settingsOfFolder(feed);
    // With UQRP_FEED_URL, a broker behind another address than the one that the folder was made for.
    return { ...settings, servers: urlServers() ?? settings.servers };
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
