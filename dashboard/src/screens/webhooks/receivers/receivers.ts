/** The receivers of docs/WEBHOOKS.md; a test compares the two. */
import code from './receivers.json' with { type: 'json' };

export interface Receiver {
  readonly name: string;
  readonly code: string;
  /** How it is started, with the place of the secret. */
  readonly start: string;
}

const SECRET = 'SIGNING_SECRET="$UQRP_SIGNING_SECRET" PORT=3000';

export const RECEIVERS: readonly Receiver[] = [
  { name: 'Express', code: code.express, start: `npm install express uqrp-sdk\n${SECRET} node express.mjs` },
  { name: 'Fastify', code: code.fastify, start: `npm install fastify uqrp-sdk\n${SECRET} node fastify.mjs` },
  {
    name: 'Hono',
    code: code.hono,
    start: `npm install hono @hono/node-server uqrp-sdk\n${SECRET} node hono.mjs`,
  },
  { name: 'Python', code: code.python, start: `${SECRET} python3 receiver.py` },
  { name: 'Go', code: code.go, start: `${SECRET} go run receiver.go` },
];
