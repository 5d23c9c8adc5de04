import { describe, expect, it, spyOn } from 'bun:test';
import { appWith, subscriptionTo } from '../../../channels/hub.fixture.ts';
import { connectionsWith, FakeConnection } from '../connection.fixture.ts';
import type { ClientConnection } from '../connection.ts';
import type { ClientConnections } from '../connections.ts';
import { SlowConsumers } from './slow-consumers.ts';

const BUFFER = 1000;

const slowConsumersOf = (connections: ClientConnections, totalBytesMax = 1_000_000) =>
  new SlowConsumers({ connections, bytesMax: BUFFER, totalBytesMax, end: () => undefined });

function stage() {
  const [slow, fine] = [new FakeConnection({ id: '1.1' }), new FakeConnection({ id: '2.1' })];
  const connections = connectionsWith([slow, fine]);
  const slowConsumers = slowConsumersOf(connections);
  for (const connection of [slow, fine]) join(slowConsumers, connection, 'a');
  return { slow, fine, slowConsumers };
}

function join(slowConsumers: SlowConsumers, connection: ClientConnection, channel: string): void {
  connection.add(subscriptionTo(connection.app, channel));
  slowConsumers.joined(connection);
}

describe('a connection that ended without a close frame', () => {
  it('went away if nothing waited for it', () => {
    const { slow, slowConsumers } = stage();
    slowConsumers.publishing('app/a', 10_000, 1);

    expect(slowConsumers.wasTooSlow(slow)).toBe(false);
  });

  it('read too slowly if a full buffer waited for it', () => {
    const { slow, fine, slowConsumers } = stage();
    slow.waiting = BUFFER;

    slowConsumers.publishing('app/a', BUFFER / 4, 1);

    expect(slowConsumers.wasTooSlow(fine)).toBe(false);
    expect(slowConsumers.wasTooSlow(slow)).toBe(true);
  });

  it('read too slowly if what was published since its sample may have filled its buffer', () => {
    const { slow, slowConsumers } = stage();
    slow.waiting = 400;
    slowConsumers.answered(slow);
    slowConsumers.publishing('app/a', 600, 1);
    expect(slowConsumers.wasTooSlow(slow)).toBe(true);

    slowConsumers.answered(slow);
    slowConsumers.publishing('app/a', 200, 1);
    slow.waiting = 0;
    slowConsumers.publishing('app/a', 40, 1);
    // A quarter of a buffer was not published yet since it was seen, so that is all that is known of it.
    expect(slowConsumers.wasTooSlow(slow)).toBe(false);
  });

  it('is sampled before it can fill its buffer', () => {
    const { slow, slowConsumers } = stage();
    for (let bytes = 0; bytes <= BUFFER; bytes += 100) {
      slowConsumers.publishing('app/a', 100, 1);
      slow.waiting = bytes;
    }

    expect(slowConsumers.wasTooSlow(slow)).toBe(true);
  });

  it('is sampled before all of its topics together can fill its buffer', () => {
    const { slow, slowConsumers } = stage();
    for (const channel of ['b', 'c', 'd']) join(slowConsumers, slow, channel);
    for (let bytes = 0; bytes <= BUFFER; bytes += 100) {
      slowConsumers.publishing(`app/${'abcd'[(bytes / 100) % 4]}`, 100, 1);
      slow.waiting = bytes;
    }

    expect(slowConsumers.wasTooSlow(slow)).toBe(true);
  });

  it('is not sampled for events that only others can have got', () => {
    const { slow, slowConsumers } = stage();
    const looked = spyOn(slow, 'waitingBytes');
    for (let topic = 0; topic < 100; topic++) slowConsumers.publishing(`app/${topic}`, 100, 1);
    expect(looked).not.toHaveBeenCalled();
    for (const _ of [1, 2, 3]) slowConsumers.publishing('app/a', 100, 1);
    expect(looked).toHaveBeenCalled();
  });

  it('is not sampled again for events before its last sample', () => {
    const { slow, slowConsumers } = stage();
    slowConsumers.publishing('app/a', 200, 1);
    slowConsumers.publishing('app/a', 100, 1);
    const looked = spyOn(slow, 'waitingBytes');
    slowConsumers.publishing('app/a', 100, 1);
    slowConsumers.publishing('app/b', 200, 1);
    expect(looked).not.toHaveBeenCalled();
  });

  it('read too slowly if its own answers waited', () => {
    const { slow, fine, slowConsumers } = stage();
    slow.waiting = BUFFER + 1;
    slowConsumers.answered(slow);
    slowConsumers.answered(fine);

    expect(slowConsumers.wasTooSlow(slow)).toBe(true);
    expect(slowConsumers.wasTooSlow(fine)).toBe(false);
  });

  it('does not count as slow if it has caught up since', () => {
    const { slow, slowConsumers } = stage();
    slow.waiting = BUFFER;
    slowConsumers.publishing('app/a', BUFFER / 4, 1);
    slow.waiting = 0;
    slowConsumers.answered(slow);
    expect(slowConsumers.wasTooSlow(slow)).toBe(false);

    slow.waiting = BUFFER;
    slowConsumers.answered(slow);
    slow.waiting = 0;
    slowConsumers.sampleAgain();
    expect(slowConsumers.wasTooSlow(slow)).toBe(false);

    slow.waiting = 400;
    slowConsumers.answered(slow);
    slowConsumers.publishing('app/a', 600, 1);
    // It has read all of that.
    slowConsumers.sampleAgain();
    expect(slowConsumers.wasTooSlow(slow)).toBe(false);
  });

  it('is judged once', () => {
    const { slow, slowConsumers } = stage();
    slow.waiting = BUFFER;
    slowConsumers.answered(slow);

    expect(slowConsumers.wasTooSlow(slow)).toBe(true);
    expect(slowConsumers.wasTooSlow(slow)).toBe(false);
  });
});

describe('the unread bytes of all connections together', () => {
  function crowd() {
    const [loud, quiet] = [appWith({ id: 'loud' }), appWith({ id: 'quiet' })];
    const fakes = Array.from(
      { length: 6 },
      (_, n) => new FakeConnection({ id: `${n + 1}.1`, app: n < 5 ? loud : quiet }),
    );
    const connections = connectionsWith(fakes);
    const ended: string[] = [];
    const slowConsumers = new SlowConsumers({
      connections,
      bytesMax: 100_000,
      totalBytesMax: 2000,
      end: ({ socketId }) => ended.push(socketId),
    });
    return { fakes, slowConsumers, ended };
  }

  it('end the slowest readers of the app with the most, and count them as slow', () => {
    const { fakes, slowConsumers, ended } = crowd();
    for (const [n, fake] of fakes.entries()) fake.waiting = 300 + n * 50;
    slowConsumers.publishing('loud/a', 100, 5);
    // 2,550 bytes waited, of which 1,500 may stay: 500, 450 and 400 of the loud app go, 550 of the other stay.
    expect(ended).toEqual(['5.1', '4.1', '3.1']);
    const last = fakes[4];
    expect(last && slowConsumers.wasTooSlow(last)).toBe(true);
    // They are not ended twice, nor counted again while they end.
    slowConsumers.publishing('loud/a', 100, 5);
    expect(ended).toHaveLength(3);
  });

  it('are sampled when much was sent to many, though little to each', () => {
    const { fakes, slowConsumers, ended } = crowd();
    for (const fake of fakes) fake.waiting = 400;
    slowConsumers.publishing('loud/a', 1, 499);
    expect(ended).toEqual([]);
    slowConsumers.publishing('loud/a', 1, 1);
    expect(ended.length).toBeGreaterThan(0);
  });

  it('are sampled when much was sent to connections that bound by themselves what waits for each', () => {
    const { fakes, slowConsumers, ended } = crowd();
    for (const fake of fakes) fake.waiting = 400;
    slowConsumers.sending(499);
    expect(ended).toEqual([]);
    slowConsumers.sending(1);
    expect(ended.length).toBeGreaterThan(0);
  });

  it('end no connection below the limit', () => {
    const { fakes, slowConsumers, ended } = crowd();
    for (const fake of fakes) fake.waiting = 333;
    slowConsumers.publishing('loud/a', 1000, 5);
    expect(ended).toEqual([]);
  });
});
