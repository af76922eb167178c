import { LIMITS } from '../../base/limits.ts';

const IN_LABEL = /^[0-9]+d[0-9]+d[0-9]+$/;
const PUBLISHED = /^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)$/;

export function versionOfLabel(text: string): string | null {
  return IN_LABEL.test(text) ? text.replaceAll('d', '.') : null;
}

export function labelOfVersion(version: string): string {
  return version.replaceAll('.', 'd');
}

/** A version that may be published: without leading zeros, so that equal versions have one spelling (semver 2.0.0 §2). */
export function isPublishedVersion(text: string): boolean {
  return text.length <= LIMITS.datasetVersion && PUBLISHED.test(text);
}

/** Orders published versions: negative when `a` is the lower one. Their parts are below 2^53. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (const [i, part] of left.entries()) {
    const difference = part - right[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}
