/** Checks of the way to the feed's broker, with the credentials of this process. They change nothing there. */

import { createPublicKey } from 'node:crypto';
import { realRandom } from '../../base/chance.ts';
import type { Clock } from '../../base/time.ts';
import { type Bus, BusError, keysSubject, STREAMS, SUBJECTS } from '../../feed/bus/bus.ts';
import { nkeyKeys } from '../../feed/bus/nats/nkey.ts';
import { CLOCK_TOLERANCE_MS, openBatch, readAnswer } from '../../feed/message/batch.ts';
import { type FeedVerifier, feedKeyRing, feedVerifier } from '../../feed/message/keys.ts';
import { ALL_NODES, openFresh } from '../../feed/message/message.ts';
import { createRpc } from '../../feed/message/rpc.ts';
import { serversOf } from '../../feed/ports/credentials.ts';
import { FeedRefusedError } from '../../feed/ports/refusal.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import { type Finding, note, ok, wrong } from './checks.ts';

const CONNECT_MS = 5_000;
const ANSWER_MS = 2_000;
/** Heartbeats come twice a second. */
const HEARTBEAT_MS = 3_000;
/** Below `CLOCK_TOLERANCE_MS`, but more than NTP leaves. */
const CLOCK_NOTE_MS = 2_000;

interface Broker {
  readonly feed: FeedSettings;
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly clock: Clock;
  /** What the broker refused so far. */
  readonly refusals: readonly string[];
}

/** One finding where the broker lets nobody in, else one for each check. */
export async function checkBroker(feed: FeedSettings | null, clock: Clock): Promise<readonly Finding[]> {
  if (feed === null) return [note('broker', 'UQRP_FEED_CREDENTIALS is not set: one process, without a feed')];
  const { openNatsBus } = await import('../../feed/bus/nats/nats-bus.ts');
  const refusals: string[] = [];
  let connectFailed = (_error: unknown): void => {};
  const bus = openNatsBus({
    ...serversOf(feed.credentials),
    servers: feed.servers,
    // Also with the credentials of control: a check makes no streams.
    streams: null,
    onError(error) {
      connectFailed(error);
      const refusal = refusalOf(error);
      if (refusal !== null) refusals.push(refusal);
    },
  });
  /** @returns why it is not connected, or null */
  const connected = new Promise<Finding | null>((resolve) => {
    const timer = setTimeout(() => connectFailed(new Error()), CONNECT_MS);
    connectFailed = (error) => {
      clearTimeout(timer);
      resolve(notConnected(feed, error));
    };
    bus.onState((state) => {
      if (state !== 'connected') return;
      clearTimeout(timer);
      resolve(null);
    });
  });
  try {
    const fault = await connected;
    if (fault !== null) return [fault];
    const verifier = feedVerifier(feed.credentials.verify.map((pem) => createPublicKey(pem)));
    const broker: Broker = { feed, bus, verifier, clock, refusals };
    return [
      ok('broker', `lets ${feed.credentials.name} in over TLS, at ${feed.servers.join(', ')}`),
      await checkStream(broker),
      await checkHeartbeat(broker),
      ...(feed.end === 'node' ? [await checkQuestions(broker), await checkPermissions(broker)] : []),
    ];
  } finally {
    await bus.close();
  }
}

/** By words of the client and of Node: neither has codes for all of these. */
const CONNECT_FAULTS: readonly (readonly [RegExp, string])[] = [
  [
    /authorization|authentication/i,
    'does not know this nkey. Put nodes.conf there with every node, then send nats-server SIGHUP',
  ],
  [
    /does not support 'tls'/,
    'does not offer TLS. Start nats-server with the nats-server.conf of uqrp feed init',
  ],
  [
    /self.signed|unable to (verify|get)|altname|certificate/i,
    'has a certificate that the authority of this feed did not make, or not for this address',
  ],
  [/ECONNREFUSED|refused/, 'refuses connections. Start nats-server, or give its address in UQRP_FEED_URL'],
  [/ENOTFOUND|EAI_AGAIN/, 'has a name that does not resolve. Give its address in UQRP_FEED_URL'],
];

function notConnected({ servers }: FeedSettings, error: unknown): Finding {
  const said = textOf(error);
  const fault = CONNECT_FAULTS.find(([words]) => words.test(said))?.[1] ?? 'does not answer within 5 seconds';
  return wrong('broker', `${servers.join(', ')} ${fault}.`);
}

function textOf(error: unknown): string {
  const {
    message = '',
    code = '',
    cause,
  } = error as {
    readonly message?: string;
    readonly code?: string;
    readonly cause?: unknown;
  };
  return `${message} ${code} ${cause === undefined ? '' : textOf(cause)}`;
}

/** `publish SUBJECT` or `subscription SUBJECT`, or null for another error. By members: the class is loaded late. */
function refusalOf(error: unknown): string | null {
  const { operation, subject } = error as { readonly operation?: unknown; readonly subject?: unknown };
  return typeof operation === 'string' && typeof subject === 'string' ? `${operation} ${subject}` : null;
}

async function checkStream({ bus, verifier, feed }: Broker): Promise<Finding> {
  const check = 'broker stream';
  try {
    const last = await bus.readLast();
    if (last === null) return ok(check, `${STREAMS.feed} can be read: no change in the last two hours`);
    openBatch(last.data, verifier);
    return ok(check, `${STREAMS.feed} can be read, and its last message is signed by this feed`);
  } catch (error) {
    if (error instanceof FeedRefusedError) {
      return wrong(
        check,
        `the last message of ${STREAMS.feed} is refused (${error.reason}). Is it the stream of another feed?`,
      );
    }
    if (!(error instanceof BusError)) throw error;
    const maker =
      feed.end === 'control' ? 'This process makes it at its start' : 'Control makes it at its start';
    return wrong(
      check,
      `${STREAMS.feed} cannot be read (${error.reason}). ${maker}. nats-server needs JetStream with a leader and space.`,
    );
  }
}

async function checkHeartbeat({ bus, verifier, clock, feed }: Broker): Promise<Finding> {
  const check = 'broker clock';
  const message = await heartbeat(bus);
  if (message === null) {
    const text = 'no heartbeat in 3 seconds: no control process publishes';
    // On a machine of control it may be the one that is to be started.
    return feed.end === 'control'
      ? note(check, text)
      : wrong(check, `${text}. Start one, or look at its log.`);
  }
  try {
    const ms = clock() - openFresh(message, 'head', ALL_NODES, verifier, { last: 0 }).at;
    const text = `${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? 'behind' : 'after'} the clock of control`;
    if (Math.abs(ms) > CLOCK_TOLERANCE_MS)
      return wrong(check, `${text}: heartbeats are refused. Set the clock, and run NTP on both machines.`);
    return (Math.abs(ms) > CLOCK_NOTE_MS ? note : ok)(check, text);
  } catch (error) {
    if (!(error instanceof FeedRefusedError)) throw error;
    return wrong(
      check,
      `the heartbeat is refused (${error.reason}): control signs with a key that these credentials lack`,
    );
  }
}

/** The next heartbeat, or null. */
function heartbeat(bus: Bus): Promise<Uint8Array | null> {
  return new Promise((resolve) => {
    const end = (message: Uint8Array | null): void => {
      clearTimeout(timer);
      stop();
      resolve(message);
    };
    const timer = setTimeout(() => end(null), HEARTBEAT_MS);
    const stop = bus.subscribe(SUBJECTS.head, end);
  });
}

/** A node asks control where the log ends. */
async function checkQuestions({ bus, verifier, feed, clock }: Broker): Promise<Finding> {
  const check = 'broker questions';
  const nkey = nkeyKeys(feed.credentials.seed);
  if (nkey === null) return wrong(check, 'the credentials have a damaged key in "seed". Make new ones.');
  const rpc = createRpc({
    bus,
    name: feed.credentials.name,
    signing: { signer: nkey.signer, random: realRandom },
    verifier,
    presentKey: () => null,
    ring: () => feedKeyRing([]),
    clock,
  });
  try {
    const { answer } = await rpc.askPlain('bounds', ANSWER_MS);
    const { head } = readAnswer(answer).head;
    return ok(check, `control answers: its log ends with change ${head}`);
  } catch (error) {
    if (error instanceof FeedRefusedError)
      return wrong(check, `the answer of control is refused (${error.reason})`);
    if (!(error instanceof BusError)) throw error;
    if (error.reason === 'failed')
      return wrong(check, 'control is there and cannot answer now. Look at its log.');
    return wrong(check, `control does not answer (${error.reason}). Start it, or look at its log.`);
  }
}

/** What a node must hear, and what it must not: the keys of the others, which are encrypted to each. */
async function checkPermissions({ bus, feed, refusals }: Broker): Promise<Finding> {
  const check = 'broker permissions';
  const { name } = feed.credentials;
  const forbidden = keysSubject('*');
  const stops = [SUBJECTS.live, SUBJECTS.head, keysSubject(name), forbidden].map((subject) =>
    bus.subscribe(subject, () => {}),
  );
  // The broker handles a connection in order: what it refused of the subscriptions it has said before this answer.
  await bus.readLast().catch(() => {});
  for (const stop of stops) stop();
  const isRefused = (refusal: string): boolean => refusal.endsWith(` ${forbidden}`);
  const lacks = refusals.filter((refusal) => !isRefused(refusal));
  if (lacks.length > 0)
    return wrong(
      check,
      `the broker refuses ${lacks.join(', ')}. Put nodes.conf there, then send nats-server SIGHUP.`,
    );
  return refusals.some(isRefused)
    ? ok(check, 'those of a node, and no more')
    : wrong(
        check,
        'this node may hear what is meant for others. nats-server.conf must include nodes.conf of this feed.',
      );
}
