import type { OutboundFault } from '../../../src/outbound/request.ts';
import { ANSWER } from './peer.ts';

/** A head: what follows the version, and fields. */
export const head = (status: string, ...lines: readonly string[]): string =>
  `HTTP/1.1 ${[status, ...lines].join('\r\n')}\r\n\r\n`;
const OK_LENGTH = 'HTTP/1.1 200 OK\r\n\r\n'.length;
/** A head with one field of so many octets, name and colon included. */
const field = (octets: number): string =>
  head('200 OK', `X-Large: ${'x'.repeat(octets - 'X-Large: '.length)}`);
export const cookies = Array.from({ length: 200 }, (_, n) => `Set-Cookie: c${n}=${'v'.repeat(50)}`);

/** What a server says to a request, and what becomes of it. Nothing here waits for the deadline. */
export const SAID: readonly [name: string, said: string | Buffer, expected: OutboundFault | number][] = [
  ['200', ANSWER, 200],
  ['200 without a length', head('200 OK'), 200],
  ['200 of HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\n', 200],
  ['200 without a reason', 'HTTP/1.1 200 \r\n\r\n', 200],
  ['202', `${head('202 Accepted', 'Content-Length: 2')}ok`, 202],
  ['204', head('204 No Content'), 204],
  ['206', head('206 Partial Content', 'Content-Length: 5'), 206],
  ['205 with a body', `${head('205 Reset Content', 'Content-Length: 5')}hello`, 205],
  ['301', head('301 Moved Permanently', 'Location: https://169.254.169.254/', 'Content-Length: 0'), 301],
  ['302', head('302 Found', 'Location: http://127.0.0.1/', 'Content-Length: 0'), 302],
  ['303', head('303 See Other', 'Location: /', 'Content-Length: 0'), 303],
  ['304', head('304 Not Modified'), 304],
  ['307', head('307 Temporary Redirect', 'Location: /', 'Content-Length: 0'), 307],
  ['308', head('308 Permanent Redirect', 'Location: //localhost/', 'Content-Length: 0'), 308],
  ['401', head('401 Unauthorized', 'WWW-Authenticate: Basic realm="x"', 'Content-Length: 0'), 401],
  ['407', head('407 Proxy Authentication Required', 'Content-Length: 0'), 407],
  ['410', head('410 Gone', 'Content-Length: 0'), 410],
  ['417', head('417 Expectation Failed', 'Content-Length: 0'), 417],
  ['421', head('421 Misdirected Request', 'Content-Length: 0'), 421],
  ['500', head('500 Internal Server Error', 'Content-Length: 0'), 500],
  ['503', head('503 Service Unavailable', 'Content-Length: 0'), 503],
  ['599', head('599 Odd', 'Content-Length: 0'), 599],
  ['a body that does not come', head('200 OK', 'Content-Length: 1000000000000'), 200],
  [
    'chunks and trailers',
    `${head('200 OK', 'Transfer-Encoding: chunked')}2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`,
    200,
  ],
  ['two responses', ANSWER + head('500 Late', 'Content-Length: 0'), 200],
  ['many cookies', head('200 OK', ...cookies), 200],
  ['a compressed body', `${head('200 OK', 'Content-Encoding: gzip', 'Content-Length: 4')}xxxx`, 200],
  [
    'a cookie that ends lines',
    head('200 OK', 'Set-Cookie: a=b\rX: y', 'Content-Length: 0'),
    'connection_failed',
  ],
  ['an interim 100', head('100 Continue') + ANSWER, 200],
  ['an interim 102', head('102 Processing') + ANSWER, 200],
  ['an interim 103', head('103 Early Hints', 'Link: </x>') + ANSWER, 200],
  ['16 interim responses', head('103 Early Hints').repeat(16) + ANSWER, 200],
  ['17 interim responses', head('103 Early Hints').repeat(17) + ANSWER, 'connection_failed'],
  ['a storm of 100', head('100 Continue').repeat(5000), 'connection_failed'],
  ['a storm of 102', head('102 Processing').repeat(5000), 'connection_failed'],
  ['a storm of 103', head('103 Early Hints', `Link: ${'x'.repeat(1000)}`).repeat(5000), 'connection_failed'],
  ['101', head('101 Switching Protocols', 'Upgrade: x', 'Connection: Upgrade'), 'connection_failed'],
  ['101 without a protocol', head('101 Switching Protocols'), 'connection_failed'],
  ['status 0', head('000 None'), 'connection_failed'],
  ['status 600', head('600 Odd', 'Content-Length: 0'), 'connection_failed'],
  ['status 999', head('999 Odd', 'Content-Length: 0'), 'connection_failed'],
  ['status of four digits', head('2000 OK'), 'connection_failed'],
  ['status of letters', head('OK 200'), 'connection_failed'],
  ['status below zero', head('-200 OK'), 'connection_failed'],
  ['a head of 16 KiB', field(16_384 - OK_LENGTH - 2), 200],
  ['a head of an octet more', field(16_384 - OK_LENGTH - 1), 'connection_failed'],
  ['empty lines before it', `\r\n${ANSWER}`, 'connection_failed'],
  ['lines that end in LF alone', ANSWER.replaceAll('\r\n', '\n'), 'connection_failed'],
  ['a field that goes on in the next line', head('200 OK', 'X-A: b', ' c'), 'connection_failed'],
  ['one field of 10 MB', field(10_000_000), 'connection_failed'],
  ['fields of 10 MB', head('200 OK', 'X-Some: thing twice\r\n'.repeat(500_000)), 'connection_failed'],
  ['a name of 10 MB', head('200 OK', `${'x'.repeat(10_000_000)}: y`), 'connection_failed'],
  ['a reason of 10 MB', head(`200 ${'x'.repeat(10_000_000)}`), 'connection_failed'],
  ['two lengths', head('200 OK', 'Content-Length: 1', 'Content-Length: 2'), 'connection_failed'],
  [
    'a length and chunks',
    head('200 OK', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
    'connection_failed',
  ],
  ['a length of letters', head('200 OK', 'Content-Length: many'), 'connection_failed'],
  ['a field without a name', head('200 OK', ': x'), 'connection_failed'],
  ['a field without a colon', head('200 OK', 'nothing'), 'connection_failed'],
  ['a space before the colon', head('200 OK', 'X-A : b'), 'connection_failed'],
  ['NUL in a field', head('200 OK', 'X-A: a\0b'), 'connection_failed'],
  ['HTTP/0.9', '<html>hello</html>\n', 'connection_failed'],
  ['HTTP/2 by name', 'HTTP/2 200 OK\r\n\r\n', 'connection_failed'],
  ['HTTP/2 by frame', Buffer.from('000000040000000000', 'hex'), 'connection_failed'],
  ['a request', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'connection_failed'],
  ['zeros', Buffer.alloc(100_000), 'connection_failed'],
];
