/** The receivers of docs/WEBHOOKS.md; a test compares the two. */
import express from './express.txt';
import fastify from './fastify.txt';
import go from './go.txt';
import hono from './hono.txt';
import python from './python.txt';

export interface Receiver {
  readonly name: string;
  readonly code: string;
  /** How it is started, with the place of the secret. */
  readonly start: string;
}

const SECRET = 'SIGNING_SECRET="$UQRP_SIGNING_SECRET" PORT=3000';

export const RECEIVERS: readonly Receiver[] = [
  { name: 'Express', code: express, start: `npm install express uqrp-sdk\n${SECRET} node express.mjs` },
  { name: 'Fastify', code: fastify, start: `npm install fastify uqrp-sdk\n${SECRET} node fastify.mjs` },
  {
    name: 'Hono',
    code: hono,
    start: `npm install hono @hono/node-server uqrp-sdk\n${SECRET} node hono.mjs`,
  },
  { name: 'Python', code: python, start: `${SECRET} python3 receiver.py` },
  { name: 'Go', code: go, start: `${SECRET} go run receiver.go` },
];
