import { describe, expect, it } from 'bun:test';
import { NO_PLACE, SocketMarks, shareSocketMarks } from './socket-marks.ts';

const peer = (address: string, port: number) => ({ address, port });

describe('sockets in use', () => {
  it('are known to all who share the memory, until they are removed as often as they were added', () => {
    const memory = shareSocketMarks();
    const [one, other] = [new SocketMarks(memory), new SocketMarks(memory)];
    const place = one.placeOf(peer('192.0.2.1', 1234));
    expect(other.placeOf(peer('192.0.2.1', 1234))).toBe(place);
    one.add(place);
    other.add(place);
    one.remove(place);
    expect(one.has(place)).toBe(true);
    other.remove(place);
    expect(one.has(place)).toBe(false);
  });

  it('have the same place over IPv4 and over IPv6', () => {
    const marks = new SocketMarks(shareSocketMarks());
    const place = marks.placeOf(peer('192.0.2.1', 1234));
    expect(marks.placeOf(peer('::ffff:192.0.2.1', 1234))).toBe(place);
  });

  it('share few places, from one address and from many', () => {
    const marks = new SocketMarks(shareSocketMarks());
    const places = new Set<number>();
    for (let n = 0; n < 5_000; n++) {
      places.add(marks.placeOf(peer('192.0.2.1', 1_000 + n)));
      places.add(marks.placeOf(peer(`10.0.${n >> 8}.${n & 255}`, 443)));
    }
    expect(places.size).toBeGreaterThan(9_500);
  });

  it('have no place if their other end is unknown', () => {
    const marks = new SocketMarks(shareSocketMarks());
    expect(marks.placeOf(null)).toBe(NO_PLACE);
    marks.add(NO_PLACE);
    expect(marks.has(NO_PLACE)).toBe(false);
  });
});
