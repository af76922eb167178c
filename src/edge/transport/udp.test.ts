import { udpSuite } from '../../../test/support/edge/transport/udp-suite.ts';
import { listenUdp } from './udp.ts';

udpSuite('listenUdp', listenUdp);
