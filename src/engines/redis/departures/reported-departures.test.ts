import { beforeEach, expect, it } from 'bun:test';
import { ReportedDepartures } from './reported-departures.ts';

let nowMs: number;
let reported: ReportedDepartures;

beforeEach(() => {
  nowMs = 0;
  reported = new ReportedDepartures({ now: () => nowMs });
});

it('departures are known by kind and subject, with the time since they were asked for', () => {
  reported.add(['h7\nr\n1/room\nann', 'h8\nv\n1/room', 'h9\nn\n1/room\n3'], 0);
  nowMs = 500;
  expect(reported.all()).toEqual([
    ['r1/room\nann', 500],
    ['v1/room', 500],
  ]);
});

it('a departure is not known any more once this node has reported the return', () => {
  reported.add(['h7\nr\n1/room\nann', 'h8\nv\n1/room'], 0);
  reported.add(['h9\na\n1/room\nann'], 0);
  expect(reported.all()).toEqual([['v1/room', 0]]);
  reported.add(['h9\no\n1/room'], 0);
  expect(reported.all()).toEqual([]);
});

it('the last 1,000 departures of the last 2 minutes are known', () => {
  reported.add(['h7\nr\n1/room\nann'], 0);
  nowMs = 119_999;
  expect(reported.all()).toHaveLength(1);
  nowMs = 120_000;
  expect(reported.all()).toEqual([]);
  for (let n = 0; n < 1001; n++) reported.add([`h${n}\nr\n1/room\nuser-${n}`], nowMs);
  expect(reported.all()).toHaveLength(1000);
  expect(reported.all()[0]).toEqual(['r1/room\nuser-1', 0]);
});
