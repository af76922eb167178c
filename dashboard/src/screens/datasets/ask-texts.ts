import {
  decodeMessage,
  encodeQuery,
  exchange,
  rcodeName,
  recordsIn,
  txtOf,
  Unavailable,
} from '../../../../sdk/src/dns.ts';

/** The texts of the TXT records at a name; none where nothing is there. @throws Unavailable */
export async function askTexts(name: string, signal: AbortSignal): Promise<readonly string[]> {
  const reply = await exchange(`${location.origin}/dns-query`, encodeQuery(name), { signal });
  const message = decodeMessage(reply);
  if (message.rcode !== 0) throw new Unavailable(rcodeName(message.rcode));
  return recordsIn(message, 'answer').flatMap((record) => {
    const txt = txtOf(record);
    return txt === null ? [] : [new TextDecoder().decode(txt)];
  });
}
