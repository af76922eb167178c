import { udpSuite } from '../../../test/support/dns/udp/udp-suite.ts';
import { listenUdp } from './node-listener.ts';

/** Of this host, as the suite takes it: of 127.0.0.0/8 an interface tells one. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2', '::1'];

udpSuite('listenUdp', (options) => listenUdp(options, () => ADDRESSES));
