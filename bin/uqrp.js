#!/usr/bin/env -S node --max-semi-space-size=8
// Written for old versions of Node as well: it says which one is needed, or runs the one that was installed along.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const needed = manifest.config.node;
// The package has JavaScript, because Node strips no types below node_modules. A checkout has the sources, and a dist/ only since `npm pack`.
const sources = new URL('../src/cli.ts', import.meta.url);
const program = existsSync(sources) ? sources : new URL('../dist/cli.js', import.meta.url);

if (isWithin(process.versions.node, needed)) {
  void import(program.href);
} else {
  const other = installedNode();
  if (other === null) {
    process.stderr.write(
      'uqrp needs a Node of ' +
        needed +
        ', and this is Node ' +
        process.versions.node +
        '. Install a newer Node, or run "' +
        advice() +
        '", which installs one for Linux that only uqrp uses.\n',
    );
    process.exitCode = 1;
  } else {
    runWith(other);
  }
}

/** Of a range `^22.20.0 || >=24.11.0`: the same major version and not older, or not older. */
function isWithin(version, range) {
  return range.split(' || ').some((part) => {
    const than = part.replace(/^\D+/, '');
    return !isOlder(version, than) && (part[0] !== '^' || parseInt(version, 10) === parseInt(than, 10));
  });
}

function isOlder(version, than) {
  const a = version.split('.').map(Number);
  const b = than.split('.').map(Number);
  for (let i = 0; i < 3; i++) {
    if (a[i] !== b[i]) return a[i] < b[i];
  }
  return false;
}

/** Without links in the folder of programs: npm refuses to replace a Node that is there. */
function advice() {
  if (program === sources) return 'npm ci';
  // Beside the modules of a project stands its package.json; npm has none beside the global ones.
  const isGlobal = !existsSync(new URL('../../../package.json', import.meta.url));
  return `npm install ${isGlobal ? '--global ' : ''}--no-bin-links node-linux-${process.arch}@24`;
}

/** The Node that npm installed as a package, in this checkout or beside this package; null when there is none. */
function installedNode() {
  const places = [
    '../node_modules/.bin/node',
    `../../node-linux-${process.arch}/bin/node`,
    '../../.bin/node',
  ];
  for (const place of places) {
    const path = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(path)) return path;
  }
  return null;
}

function runWith(node) {
  const words = process.execArgv.concat(fileURLToPath(program), process.argv.slice(2));
  const child = spawn(node, words, { stdio: 'inherit' });
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
  signals.forEach((signal) => {
    process.on(signal, () => child.kill(signal));
  });
  child.on('exit', (code, signal) => {
    signals.forEach((name) => {
      process.removeAllListeners(name);
    });
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}
