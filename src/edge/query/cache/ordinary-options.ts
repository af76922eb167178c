import { EDNS_OPTION } from '../../wire/codes.ts';
import { isCookieLength } from '../../wire/message/edns.ts';
import { u16At } from '../../wire/octets.ts';
import { afterOption, OPTION_HEADER_OCTETS } from '../../wire/skim.ts';

/**
 * Whether the options are well formed and none changes the answer. The transport answers cookies, padding and
 * keepalive; client subnets and unknown options get no answer. NSID changes it.
 */
export function ordinaryOptions(request: Uint8Array, start: number, end: number): boolean {
  let isFirstCookie = true;
  let at = start;
  while (at < end) {
    const next = afterOption(request, at, end);
    if (next < 0) return false;
    const code = u16At(request, at);
    if (code === EDNS_OPTION.NSID) return false;
    if (code === EDNS_OPTION.COOKIE && isFirstCookie) {
      // A wrong length is a FORMERR; only the first cookie counts (RFC 7873 §5.2).
      if (!isCookieLength(next - at - OPTION_HEADER_OCTETS)) return false;
      isFirstCookie = false;
    }
    at = next;
  }
  return true;
}
