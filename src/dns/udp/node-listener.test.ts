import { udpSuite } from '../../../test/support/dns/udp/udp-suite.ts';
import { listenUdp } from './node-listener.ts';

udpSuite('listenUdp', listenUdp);
