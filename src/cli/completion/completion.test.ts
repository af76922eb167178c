import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { buildProgram } from '../program.ts';
import { takeSignals } from '../signals.ts';
import { completionScript } from './shells.ts';
import { factsOf } from './tree.ts';

const tree = factsOf(buildProgram({ clock: Date.now, takeSignals }));
const folder = mkdtempSync(join(tmpdir(), 'uqrp-completion-'));
for (const name of ['manifest.json', 'my first key.pem', 'my * key.pem'])
  writeFileSync(join(folder, name), '');
after(() => rmSync(folder, { recursive: true }));

/** A command line up to the cursor, words that must be offered, and words that must not. */
const LINES: readonly (readonly [line: string, offered: readonly string[], not: readonly string[]])[] = [
  ['uqrp ser', ['serve'], ['user', '--json']],
  ['uqrp ', ['serve', 'user', 'completion', 'query'], ['create', 'keygen']],
  ['uqrp user ', ['create', 'token', 'sessions'], ['serve', 'keygen']],
  ['uqrp user create --', ['--tier', '--json', '--help'], ['--zone']],
  ['uqrp user create you@example.net --tier ', ['free', 'pro', 'team', 'enterprise'], ['--json']],
  ['uqrp user tier you@example.net p', ['pro'], ['free']],
  ['uqrp namespace public-read shop ', ['on', 'off'], ['suspend']],
  ['uqrp dnssec rollover zsk --de', ['--despite-nodes'], ['--zone']],
  ['uqrp completion ', ['bash', 'zsh', 'fish'], ['serve']],
  ['uqrp dataset attest man', ['manifest.json'], ['keygen']],
  ['uqrp dataset verify a --items man', ['manifest.json'], ['keygen']],
  ['uqrp dataset attest my', ['my first key.pem', 'my * key.pem'], ['my', 'first', 'manifest.json']],
  [
    'uqrp dataset verify a --items my',
    ['my first key.pem', 'my * key.pem'],
    ['my', 'first', 'manifest.json'],
  ],
];

/** What each real shell offers for a line. */
const SHELLS: Readonly<Record<string, (script: string, words: readonly string[]) => readonly string[]>> = {
  bash: (script, words) => [
    '-c',
    `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _uqrp; printf "%s\\n" "\${COMPREPLY[@]}"`,
    'bash',
    script,
    ...words,
  ],
  // The line editor needs a terminal: its two functions are replaced by ones that print. They filter by the word, as it does.
  zsh: (script, words) => [
    '-fc',
    `_describe() { for offer in "\${(@P)2}"; do print -r -- "\${offer%%:*}"; done | grep -e "^$last"; }
     _files() { print -rl -- *(N) | grep -e "^$last"; }
     source "$1"; shift; words=("$@"); CURRENT=$#; last=$words[CURRENT]; _uqrp; true`,
    'zsh',
    script,
    ...words,
  ],
  fish: (script, words) => [
    '--no-config',
    '-c',
    `source '${script}'; complete -C '${words.join(' ')}' | string split -f1 \\t`,
  ],
};

describe('the completions of uqrp', () => {
  for (const [shell, call] of Object.entries(SHELLS)) {
    it(`offer in ${shell} what can follow`, (t) => {
      if (spawnSync(shell, ['--version']).error !== undefined) return t.skip(`needs ${shell}`);
      const script = join(folder, `uqrp.${shell}`);
      writeFileSync(script, completionScript(shell, tree));
      for (const [line, offered, not] of LINES) {
        const { stdout, stderr } = spawnSync(shell, call(script, line.split(' ')), {
          cwd: folder,
          encoding: 'utf8',
        });
        assert.equal(stderr, '', line);
        // fish shows a name as it is typed, with `\ ` for a space.
        const words = stdout.replaceAll('\\', '').split('\n');
        for (const word of offered)
          assert.ok(words.includes(word), `${line}: ${word} is not in ${words.join(' ')}`);
        for (const word of not) assert.ok(!words.includes(word), `${line}: ${word}`);
      }
    });
  }
});
