/** A million mutated packets through the packet handler. Exit code 1 at the first wrong reply. */
import { fuzzPackets } from '../fuzz/packet-fuzz.ts';

const packets = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? 20_261_120);
const report = await fuzzPackets(packets, seed);
process.stdout.write(
  `seed ${seed}: ${report.packets} packets, ${report.answered} answered, ${report.fromCache} from the cache\n`,
);
