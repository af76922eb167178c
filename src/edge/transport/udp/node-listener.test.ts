import { udpSuite } from '../../../../test/support/edge/transport/udp/udp-suite.ts';
import { listenUdp } from './node-listener.ts';

udpSuite('listenUdp', listenUdp);
