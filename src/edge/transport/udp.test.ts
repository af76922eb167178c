import { udpSuite } from './testing/udp-suite.ts';
import { listenUdp } from './udp.ts';

udpSuite('listenUdp', listenUdp);
