import { expect, it } from 'bun:test';
import { SocketMarks, shareSocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import { IdleSockets } from './idle-sockets.ts';
import type { KernelSocket } from './kernel-sockets.ts';

const THRESHOLD = 400;
const LIMIT = 500;
const KEPT = THRESHOLD / 4;

/** A process whose connections have the descriptors from 10 on. */
function stage(connections: readonly { readonly address: string }[]) {
  const open = new Map<number, KernelSocket>();
  for (const [index, { address }] of connections.entries()) {
    const descriptor = 10 + index;
    open.set(descriptor, { descriptor, address, port: 1_000 + index, silentMs: index });
  }
  const marks = new SocketMarks(shareSocketMarks());
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: string[] = [];
  const counted: number[] = [];
  const line = (message: string) => lines.push(message);
  const idle = new IdleSockets({
    sockets: {
      accepted: (descriptor) => open.get(descriptor),
      end: ({ descriptor }) => open.delete(descriptor),
    },
    marks,
    port: () => 80,
    threshold: THRESHOLD,
    bound: 'memory',
    trusts: (address) => address === 'proxy',
    onEnded: (count) => counted.push(count),
    log: { debug: line, info: line, warn: line, error: line },
    clock,
  });
  return {
    clock,
    lines,
    counted,
    marks,
    open,
    check: () => idle.check(10 + open.size, LIMIT),
    left: (address: string) => [...open.values()].filter((one) => one.address === address).length,
  };
}

const many = (address: string, count: number) => Array.from({ length: count }, () => ({ address }));

it('closes nothing while descriptors are not scarce', () => {
  const { check } = stage(many('6.6.6.6', THRESHOLD / 2));
  expect(check()).toBe(0);
});

it('leaves a quarter of the descriptors to idle connections, and to an address with few all of its own', () => {
  const { check, left, lines, counted } = stage([...many('6.6.6.6', 300), ...many('1.1.1.1', 20)]);
  expect(check()).toBe(320 - KEPT);
  expect([left('6.6.6.6'), left('1.1.1.1')]).toEqual([KEPT - 20, 20]);
  expect(counted).toEqual([320 - KEPT]);
  expect(lines).toEqual(['Idle connections closed to make room']);
});

it('does not count connections that are in use', () => {
  const { check, open, marks } = stage(many('6.6.6.6', 350));
  for (const socket of open.values()) marks.add(marks.placeOf(socket));
  expect(check()).toBe(0);
});

it('closes those of a trusted proxy last', () => {
  const { check, left } = stage([...many('proxy', 80), ...many('6.6.6.6', 260)]);
  check();
  expect([left('proxy'), left('6.6.6.6')]).toEqual([80, 20]);
});

it('rests for a while after it found nothing to close', () => {
  const { check, open, marks, clock } = stage(many('6.6.6.6', 350));
  const places = [...open.values()].map((socket) => marks.placeOf(socket));
  for (const place of places) marks.add(place);
  check();
  for (const place of places) marks.remove(place);
  expect(check()).toBe(0);
  clock.nowMs += 1_000;
  expect(check()).toBe(350 - KEPT);
});
