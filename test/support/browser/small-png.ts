/** Makes a screenshot small: at most 256 colours, in a palette. */
import { deflateSync, inflateSync } from 'node:zlib';

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Three octets a pixel. */
  readonly rgb: Uint8Array;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;

/** @param png 8 bits a channel, RGB or RGBA, not interlaced: as chromium writes screenshots */
export function smallPng(png: Buffer): Buffer {
  const { width, height, rgb } = decode(png);
  const palette = commonColours(rgb);
  const known = new Map<number, number>(palette.map((colour, at) => [colour, at]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = colourAt(rgb, y * width + x);
      let at = known.get(colour);
      if (at === undefined) {
        at = nearest(palette, colour);
        known.set(colour, at);
      }
      rows[y * (width + 1) + 1 + x] = at;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function colourAt(rgb: Uint8Array, pixel: number): number {
  const at = pixel * 3;
  return (rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!;
}

/** The most frequent colours. Those of smooth edges are rare, and are replaced by a near one. */
function commonColours(rgb: Uint8Array): number[] {
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < rgb.length / 3; pixel++) {
    const colour = colourAt(rgb, pixel);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, COLOURS_MAX)
    .map(([colour]) => colour);
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [at, other] of palette.entries()) {
    const red = (other >> 16) - (colour >> 16);
    const green = ((other >> 8) & 255) - ((colour >> 8) & 255);
    const blue = (other & 255) - (colour & 255);
    const distance = red * red + green * green + blue * blue;
    if (distance < least) {
      least = distance;
      best = at;
    }
  }
  return best;
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(data.length + 12);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc(whole.subarray(4, data.length + 8)), data.length + 8);
  return whole;
}

/** CRC-32 of ISO 3309 (PNG, appendix D). */
function crc(octets: Uint8Array): number {
  let sum = 0xffffffff;
  for (const octet of octets) {
    sum ^= octet;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

function decode(png: Buffer): Pixels {
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const raw = unfiltered(inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    rgb.set(raw.subarray(pixel * channels, pixel * channels + 3), pixel * 3);
  }
  return { width, height, rgb };
}

/** Undoes the filter of each row (PNG, section 9). */
function unfiltered(data: Buffer, stride: number, height: number, channels: number): Uint8Array {
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const to = y * stride + x;
      const left = x >= channels ? out[to - channels]! : 0;
      const up = y > 0 ? out[to - stride]! : 0;
      const corner = x >= channels && y > 0 ? out[to - stride - channels]! : 0;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
      out[to] = data[y * (stride + 1) + 1 + x]! + predicted;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const distances = [
    Math.abs(estimate - left),
    Math.abs(estimate - up),
    Math.abs(estimate - corner),
  ] as const;
  if (distances[0] <= distances[1] && distances[0] <= distances[2]) return left;
  return distances[1] <= distances[2] ? up : corner;
}
