import { hostPort, literalAddress, networks, origin, port, text } from './parsers.ts';
import { variable } from './variable.ts';

const PORT = 'a port, 0 to 65535';
const ADDRESS = 'a literal IPv4 or IPv6 address';

/** Variables of listeners and public addresses, a part of `ENVIRONMENT`. */
export const LISTENERS = {
  UQRP_HOST: variable({
    parse: literalAddress,
    fallback: '127.0.0.1',
    meaning: 'Address that all listeners bind: IPv4 or IPv6, `0.0.0.0` or `::` for every one',
    expects: ADDRESS,
  }),
  UQRP_HTTP_HOST: variable({
    parse: literalAddress,
    fallback: null,
    shown: 'UQRP_HOST',
    meaning: 'Address that REST and the dashboard alone bind',
    expects: ADDRESS,
  }),
  UQRP_HTTP_PORT: variable({
    parse: port,
    fallback: '8080',
    meaning:
      'REST under `/api/v1`, the dashboard at `/`, DNS over HTTP, health and metrics; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_DNS_PORT: variable({
    parse: port,
    fallback: '5300',
    meaning: 'DNS over UDP and TCP; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_DOT_PORT: variable({
    parse: port,
    fallback: '8853',
    meaning: 'DNS over TLS; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_DOH_PORT: variable({
    parse: port,
    fallback: '8443',
    meaning: 'DNS over HTTPS, h2 and http/1.1: `/dns-query`, `/resolve`; 0 takes a free port',
    expects: PORT,
  }),
  UQRP_METRICS: variable({
    parse: hostPort,
    fallback: null,
    shown: 'on the REST port, for this host only',
    meaning:
      '`HOST:PORT` of a listener of their own for `/metrics`, `/livez` and `/readyz`, open to everyone who can reach it; IPv6 in brackets; port 0 takes a free port',
    expects: 'a literal address and a port as HOST:PORT, IPv6 in brackets',
  }),
  UQRP_PUBLIC_URL: variable({
    parse: origin,
    fallback: null,
    shown: '`http://localhost:UQRP_HTTP_PORT`',
    meaning:
      'Origin under which browsers and clients reach REST and the dashboard, such as `https://api.example.com`; used in links, and a browser can sign in only there',
    expects: 'an http or https origin without a path',
  }),
  UQRP_TRUSTED_PROXIES: variable({
    parse: networks,
    fallback: null,
    shown: 'none',
    meaning:
      'Networks of proxies in front of REST, separated by commas, such as `10.0.0.0/8,2001:db8::1`; their `X-Forwarded-For` counts',
    expects: 'addresses or networks in CIDR form separated by commas',
  }),
  UQRP_TLS_CERT: variable({
    parse: text,
    fallback: null,
    shown: 'self-signed, made once as `tls/cert.pem`',
    meaning: 'PEM file with the certificate and its chain; read again on SIGHUP',
    expects: 'a path',
  }),
  UQRP_TLS_KEY: variable({
    parse: text,
    fallback: null,
    shown: 'made once as `tls/key.pem`',
    meaning: 'PEM file with the private key of that certificate; read again on SIGHUP',
    expects: 'a path',
  }),
} as const;
