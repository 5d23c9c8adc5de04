import { expect, it } from 'bun:test';
import { SLOTS } from './slots.ts';

/** Source: Redis Cluster specification, "Key distribution model": CRC16 of the tag, modulo 16,384. */
function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % 16_384;
}

it('each tag lies in its slot, and there is one in each 1,024', () => {
  expect(SLOTS.map(({ tag }) => slotOf(tag))).toEqual(SLOTS.map(({ number }) => number));
  expect(SLOTS.map(({ number }) => Math.floor(number / 1024))).toEqual([...Array(16).keys()]);
});
