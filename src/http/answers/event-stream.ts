import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { EventOutput } from '../../control/query-log/row-stream.ts';

/** Octets of events that wait for a client, beside what the system holds of its connection. */
const BUFFER = 65_536;

export interface EventStream extends EventOutput {
  /** The body of the answer. */
  readonly body: Readable;
  /** Ends the answer. */
  readonly end: () => void;
}

/** The body of a `text/event-stream` answer. @param onEnd called once, when the answer has ended or the connection is closed */
export function eventStream(response: ServerResponse, onEnd: () => void): EventStream {
  let isReady = true;
  let isEnding = false;
  let hasEnded = false;
  const body = new Readable({
    highWaterMark: BUFFER,
    read() {
      isReady = true;
    },
  });
  const finish = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    body.destroy();
    onEnd();
  };
  response.once('finish', finish);
  response.once('close', finish);
  return {
    body,
    write(text) {
      if (!isEnding && !hasEnded) isReady = body.push(text);
      return isReady;
    },
    isReady: () => isReady && !isEnding,
    cutOff: () => void response.destroy(),
    end: () => {
      if (isEnding || hasEnded) return;
      // The connection takes a while to finish, and a push after the end would fail.
      isEnding = true;
      body.push(null);
    },
  };
}
