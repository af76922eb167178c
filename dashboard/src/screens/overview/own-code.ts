/** The record of the first steps in a program of one's own. `TOKEN` stands for a query token; a key has no letters that a language would read. */
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { plainDig, queryName } from '../tokens/token-command.ts';

export interface OwnCode {
  readonly id: 'shell' | 'python' | 'c';
  readonly code: string;
}

/** @param isOpen whether reads need no token */
export function ownCode(key: string, meta: Meta, isOpen: boolean): readonly OwnCode[] {
  const zone = meta.zones[0] ?? '';
  const { host, port } = meta.endpoints.dns ?? { host: 'localhost', port: 53 };
  const dig = plainDig(queryName(key, isOpen ? null : '$TOKEN', zone), meta);
  return [
    ...(dig === null ? [] : [{ id: 'shell' as const, code: shell(dig, isOpen) }]),
    {
      id: 'python',
      code: `import uqrp                    # device/uqrp.py, one file for Python and MicroPython

result, record = uqrp.read("${host}", ${port}, "${key}"${isOpen ? '' : ', "TOKEN"'}, "${zone}")
print(record.data if result == uqrp.OK else result)`,
    },
    {
      id: 'c',
      code: `/* ESP32 with Arduino: device/uqrp.h and device/examples/arduino/uqrp_read */
#include <WiFi.h>
#include <WiFiUdp.h>
#include "uqrp_arduino.h"

static WiFiUDP udp;
static uint8_t reply[512];
static uint16_t random16() { return (uint16_t)esp_random(); }

void loop() {
  struct uqrp_record record;
  IPAddress server;
  bool taken = false;
  WiFi.hostByName("${host}", server);
  const enum uqrp_result result =
      uqrpRead(udp, server, ${port}, "${key}", ${isOpen ? 'NULL' : '"TOKEN"'}, "${zone}", random16, reply, sizeof reply, &record, &taken);
  if (taken && result == UQRP_OK) Serial.write(record.data, record.size);
  delay(60000);
}`,
    },
  ];
}

/** As in docs/RECIPES.md: the payload is behind the first `;d=`, in plain text or in Base64. */
function shell(dig: string, isOpen: boolean): string {
  return `${isOpen ? '' : 'TOKEN=...\n'}answer=$(${dig.replace('dig ', 'dig +short ').replace(/ \+short$/, '')} |
  sed 's/" "//g; s/^"//; s/"$//')
case ${'$'}{answer%%;d=*} in
*';e=plain;'*) printf '%s\\n' "${'$'}{answer#*;d=}" ;;
*) printf %s "${'$'}{answer#*;d=}" | base64 -d ;;
esac`;
}
