/** An answer as `dig` prints it. */
import { type DnsMessage, rcodeName, recordsIn, typeName } from '../../../../sdk/src/dns.ts';
import { maskText } from '../../format/masked-name.ts';

const FLAGS = ['qr', 'aa', 'tc', 'rd', 'ra', 'ad', 'cd'] as const;
const SECTIONS = ['answer', 'authority', 'additional'] as const;

/** @param ms of the ask */
export function digText(message: DnsMessage, ms: number): string {
  const { id, flags, questions, records, edns, octets } = message;
  const lines = [
    `;; ->>HEADER<<- opcode: QUERY, status: ${rcodeName(message.rcode)}, id: ${id}`,
    `;; flags: ${FLAGS.filter((flag) => flags[flag]).join(' ')}; QUERY: ${questions.length}, ${SECTIONS.map((section) => `${section.toUpperCase()}: ${recordsIn(message, section).length + (section === 'additional' && edns !== null ? 1 : 0)}`).join(', ')}`,
  ];
  if (edns !== null) {
    lines.push(
      '',
      ';; OPT PSEUDOSECTION:',
      `; EDNS: version: ${edns.version}, flags:${edns.dnssecOk ? ' do' : ''}; udp: ${edns.udpSize}`,
      ...edns.extendedErrors.map(
        ({ code, name, text }) => `; EDE: ${code} (${name})${text === '' ? '' : `: (${maskText(text)})`}`,
      ),
      ...edns.options
        .filter(({ name }) => name === 'padding')
        .map(({ octets: { length } }) => `; PAD: (${length} bytes)`),
    );
  }
  lines.push('', ';; QUESTION SECTION:');
  for (const { name, type } of questions) lines.push(`;${maskText(name.text)}. IN ${typeName(type)}`);
  for (const section of SECTIONS) {
    const shown = records.filter((record) => record.section === section);
    if (shown.length === 0) continue;
    lines.push('', `;; ${section.toUpperCase()} SECTION:`);
    for (const { owner, ttl, type, text } of shown)
      lines.push(`${maskText(owner.text)}. ${ttl} IN ${typeName(type)} ${maskText(text)}`);
  }
  lines.push('', `;; Query time: ${Math.round(ms)} msec`, `;; MSG SIZE  rcvd: ${octets.length}`);
  return lines.join('\n');
}
