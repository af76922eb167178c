/** Checks of the machine: Node, disk, clock, rights of the data directory. Facts come in, findings go out. */
import { type Finding, note, ok, wrong } from './finding.ts';

/** @param needed of package.json: `^22.20.0 || >=24.11.0` */
export function checkNode(version: string, needed: string): Finding {
  return needed.split(' || ').some((part) => isWithin(version, part))
    ? ok('node', `Node ${version}`)
    : wrong('node', `Node ${version} is not one of ${needed}. Install another.`);
}

/** @param part `^22.20.0`: that or later with the same major version; `>=24.11.0`: that or later */
function isWithin(version: string, part: string): boolean {
  const least = part.replace(/^\D+/, '');
  const sameMajor = Number.parseInt(version, 10) === Number.parseInt(least, 10);
  return compare(version, least) >= 0 && (sameMajor || !part.startsWith('^'));
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  const at = [0, 1, 2].find((i) => left?.[i] !== right?.[i]);
  return at === undefined ? 0 : (left?.[at] ?? 0) - (right?.[at] ?? 0);
}

const MEGABYTE = 1_048_576;
/** Below the first a day of writes may fill the disk; below the second the next one may. */
const DISK_NOTE_MB = 1024;
const DISK_WRONG_MB = 100;

export function checkDisk(freeBytes: number): Finding {
  const free = Math.floor(freeBytes / MEGABYTE);
  const text = `${free} MB free for the data directory`;
  if (free < DISK_WRONG_MB) return wrong('disk', `${text}. Make room: writes fail on a full disk.`);
  return free < DISK_NOTE_MB ? note('disk', text) : ok('disk', text);
}

/** A file cannot be newer than now, but for a small step of the clock. */
const CLOCK_TOLERANCE_MS = 60_000;

/** @param newestFile modification time of the newest file of the data directory, milliseconds; null without files */
export function checkClock(now: number, newestFile: number | null): Finding {
  const ahead = newestFile === null ? 0 : newestFile - now;
  if (ahead > CLOCK_TOLERANCE_MS) {
    const seconds = Math.round(ahead / 1000);
    return wrong(
      'clock',
      `the clock is ${seconds} s behind the newest file of the data directory. Set it, and run NTP.`,
    );
  }
  return ok('clock', new Date(now).toISOString());
}

/** @param open paths of the data directory that other users may read or write */
export function checkRights(open: readonly string[]): Finding {
  return open.length === 0
    ? ok('rights', 'the data directory is for its user alone')
    : wrong('rights', `other users can reach ${open.join(', ')}. The next start of the server closes them.`);
}

/** A group may read it: Kubernetes gives secrets to the group of a pod. */
export function checkCredentials(file: string, isOpen: boolean): Finding {
  return !isOpen
    ? ok('credentials', `other users cannot read ${file}`)
    : wrong(
        'credentials',
        `every user of this machine can read ${file}, and be this end of the feed: chmod 600 it. If somebody may have read it, remove the node and add it again.`,
      );
}

export interface ViewFile {
  readonly path: string;
  readonly mode: number;
  /** Whether this user may read and write it. */
  readonly isUsable: boolean;
}

/** @param files the directory of the view and the files in it */
export function checkView(files: readonly ViewFile[]): Finding {
  const locked = files.filter(({ isUsable }) => !isUsable).map(({ path }) => path);
  if (locked.length > 0) {
    return wrong(
      'view',
      `this user cannot read and write ${locked.join(', ')}. Run doctor as the server's user, or give it the rights.`,
    );
  }
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path);
  return open.length > 0
    ? wrong('view', `other users can reach ${open.join(', ')}. The next start of the server closes them.`)
    : ok('view', `${files.length - 1} files, for their user alone`);
}
