import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { RedisAway, type Reply } from '../reply.ts';
import { movedTo, readSlots } from './slot-map.ts';

const ASKED = { host: '10.0.0.9', port: 7000 };
const node = (host: string | null, port = 6379, id = `id of ${host}`): Reply => [
  host,
  port,
  id,
  [],
];

describe('the map of a cluster', () => {
  it('names the master of each slot, and all servers', () => {
    const map = readSlots(
      [
        [0, 8191, node('10.0.0.1'), node('10.0.0.2')],
        [8192, 8192, node('10.0.0.3')],
        [8193, 16_383, node('10.0.0.1'), node('10.0.0.2')],
      ],
      ASKED,
    );
    const hosts = [0, 8191, 8192, 8193, 16_383].map((slot) => map.masterOf(slot)?.host);
    expect(hosts).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.3', '10.0.0.1', '10.0.0.1']);
    expect(map.masters.map(({ host }) => host)).toEqual(['10.0.0.1', '10.0.0.3']);
    expect(map.servers.map(({ host }) => host)).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  });

  it('may leave out slots', () => {
    expect(readSlots([[5, 9, node('a')]], ASKED).masterOf(4)).toBeUndefined();
  });

  it.each([null, '', '?'])('means the server that was asked by the host %j', (host) => {
    const map = readSlots([[0, 16_383, node(host, 7001)]], ASKED);
    expect(map.masterOf(1)).toMatchObject({ host: '10.0.0.9', port: 7001 });
  });

  it.each<[string, Reply]>([
    ['no list', 'OK'],
    ['no range', ['0']],
    ['a slot that does not exist', [[0, 16_384, node('a')]]],
    ['a range that ends before it begins', [[9, 5, node('a')]]],
    ['a range without a master', [[0, 5]]],
    ['a port that does not exist', [[0, 5, node('a', 70_000)]]],
    ['a host that is a number', [[0, 5, [1, 6379, 'id']]]],
    ['too many ranges', Array.from({ length: 16_385 }, () => [1, 1, node('a')])],
    ['too many servers', Array.from({ length: 1_001 }, (_, n) => [n, n, node('a', n + 1)])],
  ])('is refused with %s', (_, reply) => {
    expect(() => readSlots(reply, ASKED)).toThrow(RedisAway);
  });

  it('fails in no other way, whatever it is', () => {
    const any = fc.letrec<{ reply: Reply }>((tie) => ({
      reply: fc.oneof(
        { maxDepth: 4 },
        fc.constant(null),
        fc.integer({ min: -1, max: 70_000 }),
        fc.string(),
        fc.array(tie('reply')),
      ),
    }));
    fc.assert(
      fc.property(any.reply, (reply) => {
        try {
          readSlots(reply, ASKED);
        } catch (error) {
          expect(error).toBeInstanceOf(RedisAway);
        }
      }),
    );
  });
});

it.each([
  ['MOVED 511 10.0.0.2:6380', { host: '10.0.0.2', port: 6380 }],
  ['MOVED 511 :6380', { host: '10.0.0.9', port: 6380 }],
  ['MOVED 511 ?:6380', { host: '10.0.0.9', port: 6380 }],
  ['MOVED 511 ::1:6380', { host: '::1', port: 6380 }],
  ['MOVED 511 10.0.0.2:0', undefined],
  ['MOVED 511', undefined],
  ['ERR no', undefined],
])('%s names a server, or none', (message, endpoint) => {
  expect(movedTo(message, ASKED)).toEqual(endpoint as never);
});
