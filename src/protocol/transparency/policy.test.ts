import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EXAMPLE, exampleText, privateKeyOf } from '../../../test/support/protocol/transparency/example.ts';
import { treeHeadText } from './checkpoint.ts';
import {
  COSIGNER_KEY,
  LOG_KEY,
  NOTE_OCTETS,
  type NoteSignature,
  noteSignature,
  printNote,
  printVerifierKey,
} from './note.ts';
import {
  hasDisjointQuorums,
  isQuorum,
  POLICY_LINES,
  parsePolicy,
  printPolicy,
  type TrustPolicy,
} from './policy.ts';
import { checkNote, cosignNote, readPolicy, signNote, verifierKeyOf } from './signatures.ts';

const seedKey = (at: number): ReturnType<typeof privateKeyOf> =>
  privateKeyOf(at.toString(16).padStart(64, '0'));
const witnessKeys = Array.from({ length: 6 }, (_, at) => seedKey(at + 1));
const logKey = seedKey(100);
const LOG = printVerifierKey(verifierKeyOf('l.example/log', LOG_KEY, logKey));
const WITNESSES = witnessKeys.map((key, at) =>
  printVerifierKey(verifierKeyOf(`w.example/${at}`, COSIGNER_KEY, key)),
);
const [W0, W1, W2] = WITNESSES as [string, string, string];

function policyOf(text: string): TrustPolicy {
  const read = readPolicy(text);
  assert.ok(read.ok, JSON.stringify(read));
  return read.policy;
}

function faultOf(text: string): string {
  const read = readPolicy(text);
  assert.ok(!read.ok, 'it was read');
  return read.faults.join('; ');
}

/** The policy in the text of tlog-policy, with keys. */
const TWO_LEVELS = `log ${LOG}

witness X1 ${WITNESSES[0]}
witness X2 ${WITNESSES[1]}
witness X3 ${WITNESSES[2]}
group X-witnesses 2 X1 X2 X3

witness Y1 ${WITNESSES[3]}
witness Y2 ${WITNESSES[4]}
witness Y3 ${WITNESSES[5]}
group Y-witnesses any Y1 Y2 Y3

group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
`;

const three = (threshold: string): string =>
  `witness a ${W0}\nwitness b ${W1}\nwitness c ${W2}\ngroup g ${threshold} a b c\nquorum g\n`;

describe('a policy', () => {
  it('is read with blanks, tabs, comments, URLs, and names of any letters', () => {
    const policy = policyOf(
      ` # comment\n\n\t log\t${LOG}  https://l.example/log \nwitness wé# ${W0} https://w.example\nquorum wé#`,
    );
    assert.deepEqual(
      [policy.logs[0]?.url, policy.witnesses[0]?.name, policy.witnesses[0]?.url, policy.quorum],
      ['https://l.example/log', 'wé#', 'https://w.example', 'wé#'],
    );
    assert.deepEqual(policyOf(printPolicy(policy)), policy);
    // Octets that are no UTF-8 are opaque.
    const opaque = parsePolicy(Buffer.from(`witness \xff ${W0}\n# \xfe\nquorum \xff\n`, 'latin1'));
    assert.ok(opaque.ok);
    assert.equal(policyOf('quorum none\n').quorum, null);
    assert.equal(printPolicy(policyOf('quorum none\n')), 'quorum none\n');
  });

  it('is refused, with the number of the line', () => {
    const wrong: readonly (readonly [text: string, fault: RegExp])[] = [
      ['', /there is no quorum line/],
      [`log ${LOG}\r\nquorum none\n`, /line 1: it has a control character/],
      ['quorum none\nquorum none\n', /line 2: there is a quorum already/],
      ['quorum\n', /line 1: .*not defined/],
      ['quorum a\n', /line 1: a is not defined before/],
      [`quorum a\nwitness a ${W0}\n`, /line 1: a is not defined before/],
      [`quorum none\nlogs ${LOG}\n`, /line 2: logs is none of/],
      ['toString a\nquorum none\n', /line 1: toString is none of/],
      ['log\nquorum none\n', /line 1: the key is not a verifier key/],
      [`log ${LOG} https://a https://b\nquorum none\n`, /line 1: https:\/\/b is too much/],
      [`log ${W0}\nquorum none\n`, /line 1: .*type 01/],
      [`witness a ${LOG}\nquorum none\n`, /line 1: .*type 04/],
      [`log ${LOG}\nlog ${LOG}\nquorum none\n`, /line 2: the public key of .* is there already/],
      [`witness a ${W0}\nwitness b ${W0}\nquorum a\n`, /line 2: the public key of/],
      [`witness a ${W0}\nwitness a ${W1}\nquorum a\n`, /line 2: a is there already/],
      [`witness none ${W0}\nquorum none\n`, /line 1: a name other than none/],
      [`witness a ${W0}\ngroup a any a\nquorum a\n`, /line 2: a is there already/],
      [`witness a ${W0}\ngroup g any b\nquorum a\n`, /line 2: b is not defined before/],
      [`witness a ${W0}\ngroup g any none\nquorum a\n`, /line 2: none is not defined before/],
      [`witness a ${W0}\ngroup g any g\nquorum a\n`, /line 2: g is not defined before/],
      [`witness a ${W0}\ngroup g any\nquorum a\n`, /line 2: g needs any, all/],
      [`witness a ${W0}\ngroup g any a a\nquorum g\n`, /line 2: a is a member already/],
      [`witness a ${W0}\ngroup g any a\ngroup h any a\nquorum g\n`, /line 3: a is a member already/],
      ...['0', '4', '-1', '01', '1.0', 'most', 'toString'].map((k) => [three(k), /line 4: g needs/] as const),
      [`log ${LOG.replace(/\+[0-9a-f]{8}\+/, '+00000000+')}\nquorum none\n`, /must have the id/],
    ];
    for (const [text, fault] of wrong) assert.match(faultOf(text), fault, text);
    assert.match(faultOf('a\nb\n'), /line 1.*line 2.*no quorum/);
  });

  it(`has at most ${POLICY_LINES} lines of a kind, and bounded octets`, () => {
    const lines = (count: number): string =>
      Array.from({ length: count }, (_, at) => {
        const key = printVerifierKey(verifierKeyOf(`w.example/${at}`, COSIGNER_KEY, seedKey(at + 1)));
        return `witness ${at} ${key}\n`;
      }).join('');
    policyOf(`${lines(POLICY_LINES)}quorum 0\n`);
    assert.match(faultOf(`${lines(POLICY_LINES + 1)}quorum 0\n`), /more than 100/);
    const padded = `quorum none\n#${' '.repeat(NOTE_OCTETS - 13)}`;
    policyOf(padded);
    assert.match(faultOf(`${padded} `), /octets/);
  });

  it('throws nothing, and what it reads it writes', () => {
    const word = fc.oneof(
      fc.constantFrom('log', 'witness', 'group', 'quorum', 'none', 'any', 'all', '1', 'a', 'b', LOG, W0, W1),
      fc.string({ maxLength: 3 }),
    );
    const line = fc.array(word, { maxLength: 5 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
        const read = parsePolicy(lines.join('\n'));
        if (!read.ok) return assert.ok(read.faults.length > 0);
        assert.deepEqual(parsePolicy(printPolicy(read.policy)), read);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a quorum', () => {
  it('is counted over groups of groups: every set of the six witnesses of the example', () => {
    const policy = policyOf(TWO_LEVELS);
    const names = ['X1', 'X2', 'X3', 'Y1', 'Y2', 'Y3'];
    for (let set = 0; set < 64; set++) {
      const cosigned = names.filter((_, at) => Math.floor(set / 2 ** at) % 2 === 1);
      const of = (letter: string): number => cosigned.filter((name) => name.startsWith(letter)).length;
      assert.equal(isQuorum(policy, new Set(cosigned)), of('X') >= 2 && of('Y') >= 1, cosigned.join());
    }
  });

  it('may be one of two without a common witness: compared with every pair of sets', () => {
    const cases = [
      'quorum none\n',
      `witness a ${W0}\nquorum a\n`,
      three('any'),
      three('2'),
      three('all'),
      TWO_LEVELS,
      TWO_LEVELS.replace('X-and-Y all', 'X-and-Y any'),
      TWO_LEVELS.replace('X-witnesses 2', 'X-witnesses 1'),
      `witness d ${WITNESSES[3]}\n${three('any').replace('quorum g', 'group h all g d\nquorum h')}`,
    ];
    const found = cases.map((text) => {
      const policy = policyOf(text);
      const names = policy.witnesses.map(({ name }) => name);
      const sets = Array.from({ length: 2 ** names.length }, (_, set) =>
        names.filter((_name, at) => Math.floor(set / 2 ** at) % 2 === 1),
      ).filter((set) => isQuorum(policy, new Set(set)));
      const disjoint = sets.some((one) => sets.some((other) => !one.some((name) => other.includes(name))));
      assert.equal(hasDisjointQuorums(policy), disjoint, text);
      return disjoint;
    });
    assert.ok(found.includes(true) && found.includes(false));
  });
});

describe('the judgement of a checkpoint', () => {
  const text = treeHeadText({ origin: 'l.example/log', size: 3, root: new Uint8Array(32) });
  const signed = signNote(text, 'l.example/log', logKey);
  const cosigned = (at: number, time = 1000, of = text): NoteSignature =>
    cosignNote(of, `w.example/${at}`, witnessKeys[at]!, time);
  const judge = (policy: string, ...signatures: readonly NoteSignature[]): ReturnType<typeof checkNote> =>
    checkNote(printNote({ text, signatures }), policyOf(policy));
  const policy = `log ${LOG}\n${three('2')}`;

  it('names the cosigners in the order of the policy, with the newest time of each', () => {
    const judged = judge(policy, cosigned(2, 7), signed, cosigned(0, 5), cosigned(0, 9), cosigned(0, 6));
    assert.ok(judged.valid);
    assert.deepEqual(
      judged.cosigners.map(({ name, time }) => [name, time]),
      [
        ['a', 9],
        ['c', 7],
      ],
    );
    assert.equal(judged.log.key.name, 'l.example/log');
  });

  it('passes over lines of unknown keys, also of a type that nobody knows', () => {
    const other = { ...cosigned(5), line: `— w.example/pq ${Buffer.alloc(3000).toString('base64')}` };
    assert.ok(judge(policy, signed, cosigned(5), other, cosigned(0), cosigned(1)).valid);
    assert.ok(judge(`log ${LOG}\nquorum none\n`, signed).valid);
  });

  it('refuses, with a code', () => {
    const wrong = (line: NoteSignature): NoteSignature => ({
      ...line,
      line: line.line.replace(/.(.{20})$/, (all, rest) => `${all.startsWith('A') ? 'B' : 'A'}${rest}`),
    });
    const short = noteSignature(verifierKeyOf('l.example/log', LOG_KEY, logKey), Uint8Array.of(1));
    const another = treeHeadText({ origin: 'l.example/log', size: 4, root: new Uint8Array(32) });
    const cases: readonly (readonly [code: string, signatures: readonly NoteSignature[]])[] = [
      ['log_unknown', [cosigned(0), cosigned(1)]],
      ['log_signature_wrong', [wrong(signed), cosigned(0), cosigned(1)]],
      ['log_signature_wrong', [short, cosigned(0), cosigned(1)]],
      ['log_signature_wrong', [signed, wrong(signed), cosigned(0), cosigned(1)]],
      ['cosignature_wrong', [signed, wrong(cosigned(0)), cosigned(1), cosigned(2)]],
      ['cosignature_wrong', [signed, cosigned(0, 1, another), cosigned(1)]],
      ['no_quorum', [signed, cosigned(0)]],
      ['no_quorum', [signed, cosigned(0), cosigned(0, 7)]],
      ['no_quorum', [signed]],
    ];
    for (const [code, signatures] of cases) {
      const judged = judge(policy, ...signatures);
      assert.equal(judged.valid ? 'valid' : judged.code, code, signatures.map(({ line }) => line).join('\n'));
    }
    const judged = judge(policy, signed, cosigned(1));
    assert.deepEqual(
      judged.cosigners.map(({ name }) => name),
      ['b'],
    );
    const malformed = checkNote(`${text}\n`, policyOf(policy));
    assert.equal(malformed.valid ? '' : malformed.code, 'checkpoint_malformed');
  });

  it('does not take the signature of a log for another origin, nor a cosignature for a signature', () => {
    const elsewhere = treeHeadText({ origin: 'm.example/log', size: 3, root: new Uint8Array(32) });
    const note = printNote({ text: elsewhere, signatures: [signNote(elsewhere, 'l.example/log', logKey)] });
    const judged = checkNote(note, policyOf(`log ${LOG}\nquorum none\n`));
    assert.equal(judged.valid ? '' : judged.code, 'log_unknown');
    const example = checkNote(exampleText('checkpoint.txt'), policyOf(exampleText('policy.txt')));
    assert.equal(example.valid && example.checkpoint.origin, EXAMPLE.origin);
  });
});
