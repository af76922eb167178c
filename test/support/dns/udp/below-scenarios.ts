/** What must hold below the sockets, in a network namespace of its own. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { query, until } from '../fakes.ts';
import {
  type Below,
  buildLoader,
  type Listening,
  OURS,
  PORT,
  pathOf,
  QUESTION,
  THEIRS,
} from './below-world.ts';
import { frameOf, octetsOf, withSum } from './frames.ts';

const attached = (listening: Listening): Promise<void> =>
  until(() => listening.changes.some(({ type }) => type === 'attached'));

/** Attached listener and loader, which end with the scenario. */
async function attachedTo(
  below: Below,
  work: (listening: Listening) => Promise<void>,
  host = OURS.ipv4,
): Promise<void> {
  const loader = await below.loader();
  const listening = await below.listen({ host });
  try {
    await attached(listening);
    await work(listening);
  } finally {
    await listening.close();
    await until(() => !below.hasProgram());
    loader.kill('SIGKILL');
  }
}

/** A question over IPv4 with octets changed; the sum of its header is made right again. */
function changed(
  below: Below,
  changes: readonly (readonly [at: number, octets: readonly number[]])[],
): Buffer {
  const frame = below.client.question(1000, QUESTION);
  for (const [at, octets] of changes) frame.set(octets, at);
  withSum(frame.subarray(14, 34));
  return frame;
}

export const SCENARIOS: Readonly<Record<string, (below: Below) => Promise<void>>> = {
  'a question comes below the socket, and its reply is whole, from the address that was asked': (below) =>
    attachedTo(below, async (listening) => {
      for (const payload of [QUESTION, Buffer.concat([QUESTION, Buffer.of(1)])]) {
        const before = below.client.repliesTo(1001).length;
        below.client.send(below.client.question(1001, payload));
        await until(() => below.client.repliesTo(1001).length > before);
      }
      for (const reply of below.client.repliesTo(1001)) {
        assert.deepEqual([reply.from, reply.to, reply.fromPort], [OURS.ipv4, THEIRS.ipv4, PORT]);
        assert.ok(reply.isWhole);
        assert.deepEqual(reply.fromMac, below.client.ourMac);
        assert.equal(reply.payload.length, 200);
      }
      assert.equal(listening.below(), 2);
    }),

  'IPv6 and IPv4 come to a socket of both families': (below) =>
    attachedTo(
      below,
      async (listening) => {
        below.client.send(below.client.question(1002, QUESTION, true));
        below.client.send(below.client.question(1002, QUESTION));
        await until(() => below.client.repliesTo(1002).length === 2);
        assert.ok(below.client.repliesTo(1002).every(({ isWhole }) => isWhole));
        assert.equal(listening.below(), 2);
      },
      '::',
    ),

  'a reply of more than 1,232 octets leaves through the socket, and arrives': (below) =>
    attachedTo(below, async (listening) => {
      const lengths = [1231, 1232, 1233, 1472];
      for (const octets of lengths) below.client.send(below.client.question(1003, query(octets, 'hot')));
      await until(() => below.client.repliesTo(1003).length === lengths.length);
      const got = below.client.repliesTo(1003).map(({ payload }) => payload.length);
      assert.deepEqual(
        got.toSorted((a, b) => a - b),
        lengths,
      );
      assert.equal(listening.below(), lengths.length);
    }),

  'what leaves through a socket of every address leaves from the one that was asked': (below) =>
    attachedTo(
      below,
      async (listening) => {
        const second = { ipv4: '10.77.1.9', ipv6: 'fd00::9' };
        execFileSync('ip', ['addr', 'add', `${second.ipv4}/24`, 'dev', OURS.device]);
        execFileSync('ip', ['addr', 'add', `${second.ipv6}/64`, 'dev', OURS.device, 'nodad']);
        const plain = below.client.question(1007, QUESTION);
        const macs = { toMac: plain.subarray(0, 6), fromMac: plain.subarray(6, 12) };
        for (const [from, addresses] of [
          [THEIRS.ipv4, [OURS.ipv4, second.ipv4]],
          [THEIRS.ipv6, [OURS.ipv6, second.ipv6]],
        ] as const) {
          for (const to of addresses) {
            const frame = (payload: Buffer): Buffer =>
              frameOf({ from, to, fromPort: 1007, toPort: PORT, payload }, macs);
            while ((await pathOf(below, listening, frame(QUESTION))).below === 0);
            const before = below.client.repliesTo(1007).length;
            below.client.send(frame(query(1300, 'hot')));
            below.client.send(frame(query(300, 'miss')));
            await until(() => below.client.repliesTo(1007).length === before + 2);
            const replies = below.client.repliesTo(1007).slice(before);
            const told = to === OURS.ipv4 || to === second.ipv4 ? to : octetsOf(to).toString('hex');
            assert.deepEqual(replies.map((reply) => `${reply.from} ${reply.payload.length}`).sort(), [
              `${told} 1300`,
              `${told} 300`,
            ]);
          }
        }
      },
      '::',
    ),

  'a burst of more than a batch is answered, reply by reply': (below) =>
    attachedTo(below, async () => {
      const { client } = below;
      // A reply has as many octets as the number of its question.
      const lengths = Array.from({ length: 500 }, (_, i) => 30 + i);
      for (const octets of lengths) client.send(client.question(1004, query(octets, 'hot')));
      // All queues on the way have room for them.
      await until(() => client.repliesTo(1004).length === lengths.length);
      const got = client.repliesTo(1004).map(({ payload }) => payload.length);
      assert.deepEqual(
        got.toSorted((a, b) => a - b),
        lengths,
      );
      assert.ok(client.repliesTo(1004).every(({ isWhole }) => isWhole));
    }),

  'what is no plain UDP for this server goes to the kernel': (below) =>
    attachedTo(below, async (listening) => {
      const { client } = below;
      const plain = client.question(1000, QUESTION);
      const macs = { toMac: plain.subarray(0, 6), fromMac: plain.subarray(6, 12) };
      const datagram = { from: THEIRS.ipv4, to: OURS.ipv4, fromPort: 1000, toPort: PORT, payload: QUESTION };
      const frames: Readonly<Record<string, Buffer>> = {
        'first fragment': changed(below, [[20, [0x20, 0]]]),
        'later fragment': changed(below, [[20, [0, 5]]]),
        'IP options': changed(below, [[14, [0x46]]]),
        TCP: changed(below, [[23, [6]]]),
        'another port': frameOf({ ...datagram, toPort: PORT + 1 }, macs),
        'a forwarded destination': frameOf({ ...datagram, to: '192.0.2.7' }, macs),
        'the address of another interface': frameOf({ ...datagram, to: '127.0.0.1' }, macs),
        'multicast MAC': frameOf(datagram, { ...macs, toMac: Buffer.from('01005e000001', 'hex') }),
        'broadcast MAC': frameOf(datagram, { ...macs, toMac: Buffer.alloc(6, 255) }),
        'the MAC of another host': frameOf(datagram, { ...macs, toMac: Buffer.from('020000000009', 'hex') }),
        'a MAC that differs at its end': frameOf(datagram, {
          ...macs,
          toMac: macs.toMac.with(5, macs.toMac[5]! ^ 1),
        }),
        'source in this network': frameOf({ ...datagram, from: '0.1.2.3' }, macs),
        'source on loopback': frameOf({ ...datagram, from: '127.0.0.9' }, macs),
        'multicast source': frameOf({ ...datagram, from: '224.0.0.1' }, macs),
        'broadcast source': frameOf({ ...datagram, from: '255.255.255.255' }, macs),
        VLAN: Buffer.concat([plain.subarray(0, 12), Buffer.from([0x81, 0, 0, 5]), plain.subarray(12)]),
        short: plain.subarray(0, 41),
        'IPv6 to a socket of IPv4': client.question(1000, QUESTION, true),
      };
      for (const [what, frame] of Object.entries(frames)) {
        const { below: came } = await pathOf(below, listening, frame);
        assert.equal(came, 0, what);
      }
      assert.deepEqual(await pathOf(below, listening, plain), { below: 1, all: 1 });
    }),

  'of IPv6, link-local, multicast, mapped and loopback sources go to the kernel': (below) =>
    attachedTo(
      below,
      async (listening) => {
        const plain = below.client.question(1000, QUESTION, true);
        const macs = { toMac: plain.subarray(0, 6), fromMac: plain.subarray(6, 12) };
        for (const [from, came] of [
          ['fe80::1', 0],
          ['ff02::1', 0],
          ['::1', 0],
          ['::ffff:a4d:102', 0],
          ['2001:db8::1', 1],
          ['fd00::2', 1],
        ] as const) {
          const frame = frameOf(
            { from, to: OURS.ipv6, fromPort: 1000, toPort: PORT, payload: QUESTION },
            macs,
          );
          assert.equal((await pathOf(below, listening, frame)).below, came, from);
        }
        const hops = Buffer.from(plain);
        hops[20] = 0;
        assert.equal((await pathOf(below, listening, hops)).below, 0, 'extension header');
      },
      '::',
    ),

  'frames whose lengths disagree get no reply': (below) =>
    attachedTo(below, async (listening) => {
      const total = below.client.question(1000, QUESTION).length - 14;
      for (const frame of [
        changed(below, [[16, [0, total + 1]]]),
        changed(below, [[16, [0, 27]]]),
        changed(below, [[38, [0, 7]]]),
        changed(below, [[38, [255, 255]]]),
        changed(below, [[38, [0, total - 19]]]),
      ]) {
        assert.equal((await pathOf(below, listening, frame)).all, 0);
      }
      const sum = below.client.question(1000, QUESTION);
      sum[24]! ^= 1;
      assert.equal((await pathOf(below, listening, sum)).all, 0, 'sum of the header');
      // Padding behind the datagram, as of a short Ethernet frame, is no part of it.
      const padded = Buffer.concat([below.client.question(1000, QUESTION), Buffer.alloc(9, 7)]);
      assert.equal((await pathOf(below, listening, padded)).all, 1);
    }),

  'an address that the interface loses is no longer served below the socket': (below) =>
    attachedTo(
      below,
      async (listening) => {
        const address = '10.77.1.9';
        execFileSync('ip', ['addr', 'add', `${address}/24`, 'dev', OURS.device]);
        const plain = below.client.question(1000, QUESTION);
        const macs = { toMac: plain.subarray(0, 6), fromMac: plain.subarray(6, 12) };
        const frame = frameOf(
          { from: THEIRS.ipv4, to: address, fromPort: 1000, toPort: PORT, payload: QUESTION },
          macs,
        );
        while ((await pathOf(below, listening, frame)).below === 0);
        execFileSync('ip', ['addr', 'del', `${address}/24`, 'dev', OURS.device]);
        while ((await pathOf(below, listening, frame)).below === 1);
      },
      '0.0.0.0',
    ),

  'the end of the loader leaves the socket, and its return is found': async (below) => {
    const loader = await below.loader();
    const listening = await below.listen();
    await attached(listening);
    loader.kill('SIGKILL');
    await until(() => listening.changes.some(({ type }) => type === 'detached'));
    assert.ok(!below.hasProgram());
    below.client.send(below.client.question(1005, QUESTION));
    await until(() => below.client.repliesTo(1005).length === 1);
    assert.deepEqual([listening.below(), listening.all()], [0, 1]);
    await until(() =>
      listening.changes.some((change) => 'reason' in change && change.reason === 'no_loader'),
    );
    const next = await below.loader();
    await until(() => listening.changes.at(-1)?.type === 'attached');
    await listening.close();
    await until(() => !below.hasProgram());
    next.kill('SIGKILL');
  },

  'a loader serves only its interfaces, and one owner of an interface': async (below) => {
    const loader = await below.loader(['other']);
    const refused = await below.listen();
    await until(() => refused.changes.length > 0);
    assert.deepEqual(refused.changes, [{ at: 1, type: 'refused', reason: 'not_allowed' }]);
    const absent = await below.listen({ device: 'other', port: 0 });
    await until(() => absent.changes.length > 0);
    // Its port is not that of the loader.
    assert.deepEqual(absent.changes, [{ at: 1, type: 'refused', reason: 'not_allowed' }]);
    await absent.close();
    await refused.close();
    loader.kill('SIGKILL');
  },

  'a queue that the interface does not have is refused, and the other one goes on': async (below) => {
    const loader = await below.loader();
    const first = await below.listen({ reusePort: true });
    const second = await below.listen({ reusePort: true, queue: 1 });
    await attached(first);
    await until(() => second.changes.length > 0);
    assert.deepEqual(second.changes, [{ at: 1, type: 'refused', reason: 'no_queue' }]);
    assert.equal((await pathOf(below, first, below.client.question(1000, QUESTION))).below, 1);
    await first.close();
    await second.close();
    loader.kill('SIGKILL');
  },

  'an interface that another program owns is refused, until that one ends': async (below) => {
    const loader = await below.loader();
    const owner = await below.listen({ mode: 'generic' });
    await attached(owner);
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-below-'));
    const other = await below.loader([OURS.device], dir);
    const waiting = await below.listen({ host: OURS.ipv6, mode: 'generic' }, dir);
    await until(() => waiting.changes.length > 0);
    assert.deepEqual(waiting.changes, [{ at: 1, type: 'refused', reason: 'busy' }]);
    await owner.close();
    await attached(waiting);
    await waiting.close();
    loader.kill('SIGKILL');
    other.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  },

  'an interface that carries VLANs is refused, and one that gets them is let go': async (below) => {
    const vlans = join(below.dir, 'vlans');
    const list = (device: string): void =>
      writeFileSync(
        vlans,
        `VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\nv.5  | 5  | ${device}\n`,
      );
    list(OURS.device);
    const loader = await below.loader([OURS.device], below.dir, buildLoader(below.dir, vlans));
    const listening = await below.listen();
    await until(() => listening.changes.length > 0);
    assert.deepEqual(listening.changes, [{ at: 1, type: 'refused', reason: 'vlan' }]);
    list('other');
    await attached(listening);
    list(OURS.device);
    await until(() => listening.changes.some(({ type }) => type === 'detached'));
    await until(() => !below.hasProgram());
    await listening.close();
    loader.kill('SIGKILL');
  },

  'both modes serve, and an interface with an MTU below 1,280 octets is refused': async (below) => {
    const loader = await below.loader();
    for (const mode of ['native', 'generic'] as const) {
      const listening = await below.listen({ mode });
      await attached(listening);
      // Before it, the interface may still be busy with the memory of the one before.
      const at = listening.changes.length;
      assert.deepEqual(listening.changes.at(-1), { at: 1, type: 'attached', mode });
      assert.equal((await pathOf(below, listening, below.client.question(1000, QUESTION))).below, 1);
      if (mode === 'generic') {
        execFileSync('ip', ['link', 'set', OURS.device, 'mtu', '1279']);
        await until(() => listening.changes.length > at + 1);
        assert.deepEqual(
          listening.changes.slice(at, at + 2).map((change) => 'reason' in change && change.reason),
          ['loader_ended', 'small_mtu'],
        );
      }
      await listening.close();
      await until(() => !below.hasProgram());
    }
    loader.kill('SIGKILL');
  },

  'a server without any capability receives below its socket, and its death leaves the port to others':
    async (below) => {
      const loader = await below.loader();
      const socket = join(below.dir, 'loader');
      // Those who may open the socket of the loader: the group.
      execFileSync('chown', ['nobody', below.dir, socket]);
      const module = fileURLToPath(new URL('below-server.ts', import.meta.url));
      const nobody = [
        '--reuid=65534',
        '--regid=65534',
        '--clear-groups',
        '--inh-caps=-all',
        '--bounding-set=-all',
        '--no-new-privs',
      ];
      const server = spawn('setpriv', [...nobody, process.execPath, module, socket], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [code] = await Promise.race([once(server.stdout, 'data'), once(server, 'exit')]);
      assert.equal(typeof code, 'object', 'the server ended');
      assert.ok(below.hasProgram());
      below.client.send(below.client.question(1006, QUESTION));
      await until(() => below.client.repliesTo(1006).length === 1);
      server.kill('SIGKILL');
      await once(server, 'exit');
      const other = await below.listen({ device: 'other' });
      await until(() => !below.hasProgram());
      below.client.send(below.client.question(1006, QUESTION));
      await until(() => below.client.repliesTo(1006).length === 2);
      assert.deepEqual([other.below(), other.all()], [0, 1]);
      await other.close();
      loader.kill('SIGKILL');
    },

  'a server that starts again and again is attached each time': async (below) => {
    const loader = await below.loader();
    for (let i = 0; i < 20; i++) {
      const listening = await below.listen();
      await attached(listening);
      assert.equal((await pathOf(below, listening, below.client.question(1000, QUESTION))).below, 1);
      await listening.close();
    }
    loader.kill('SIGKILL');
  },
};
