import { expect, it } from 'bun:test';
import type { Reply } from './link/reply.ts';
import { Restatements, type Stated } from './restatements.ts';

type Args = readonly (string | number)[];

/** A partition that answers each channel with its name in place of the number. */
class FakePartition {
  readonly unsure = new Set<Stated>();
  readonly calls: string[][] = [];
  isAway = false;

  async state(_: unknown, args: Args): Promise<readonly Reply[]> {
    if (this.isAway) throw new Error('Redis is away');
    const topics: string[] = [];
    for (let at = 0; at < args.length; at += 5 + 3 * Number(args[at + 4])) {
      topics.push(String(args[at]));
    }
    this.calls.push(topics);
    return ['7', '', -1, [], topics.map((topic) => [topic, [], [], []])];
  }
}

const partition = new FakePartition();
const restatements = new Restatements(partition);

/** A channel that states this number of members again, and adds the sequence number of the answer to `answered`. */
function channelOf(topic: string, answered: string[], members = 0, info = ''): Stated {
  const stated = Array.from({ length: members }, (_, n) => ['+', `user-${n}`, info]).flat();
  return {
    complete: () => undefined,
    async restate() {
      const channel = { topic, held: 1, flags: '', mode: 'a0', members: stated };
      const [, number] = await restatements.state(channel);
      answered.push(String(number));
    },
  };
}

async function make(channels: readonly Stated[]): Promise<readonly number[]> {
  partition.calls.length = 0;
  await restatements.make(new Set(channels), 'lost');
  return partition.calls.map(({ length }) => length);
}

it('up to 128 channels share a call, and each gets its own answer', async () => {
  const answered: string[] = [];
  const names = Array.from({ length: 300 }, (_, n) => `channel-${n}`);
  expect(await make(names.map((name) => channelOf(name, answered)))).toEqual([128, 128, 44]);
  expect(answered).toEqual(names);
  expect(partition.unsure.size).toBe(0);
});

it('calls have up to 256 members and 256 KiB, and a channel with more goes alone', async () => {
  const rooms = (count: number, members: number, info?: string) =>
    Array.from({ length: count }, (_, n) => channelOf(`room-${n}`, [], members, info));
  expect(await make(rooms(12, 50))).toEqual([5, 5, 2]);
  expect(await make(rooms(2, 300))).toEqual([1, 1]);
  expect(await make(rooms(4, 10, 'x'.repeat(10_000)))).toEqual([2, 2]);
  expect(await make(rooms(2, 10, 'x'.repeat(40_000)))).toEqual([1, 1]);
});

it('what is stated alone goes at once, and what fails stays unconfirmed', async () => {
  const answered: string[] = [];
  const channel = channelOf('room', answered);
  partition.calls.length = 0;
  await channel.restate('lost');
  expect(partition.calls).toEqual([['room']]);
  partition.isAway = true;
  const other = channelOf('other', answered);
  expect(await make([channel, other]).catch(String)).toBe('Error: Redis is away');
  expect([...partition.unsure]).toEqual([channel, other]);
  expect(answered).toEqual(['room']);
});
