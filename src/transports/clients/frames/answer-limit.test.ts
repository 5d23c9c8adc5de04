import { describe, expect, it } from 'bun:test';
import { appWith, FakeClock, hubWith, settled } from '../../../channels/hub.fixture.ts';
import { AddressRates } from '../addresses/address-rates.ts';
import { FakeConnection } from '../connection.fixture.ts';
import { AnswerLimit } from './answer-limit.ts';
import { FrameLimit } from './frame-limit.ts';

const PER_SECOND = 10;
/** Ten seconds of the rate. */
const BURST = 100;

function stage({ perSecond = PER_SECOND, ofAddress = 0 } = {}) {
  const clock = new FakeClock();
  const { rateLimitedLog: log, logged } = hubWith();
  const limit = new AnswerLimit({
    frames: new FrameLimit(perSecond),
    addresses: new AddressRates({ connectionsPerSecond: 0, framesPerSecond: ofAddress }, clock),
    log,
  });
  const plain = appWith({ clientEvents: false });
  const app = { ...plain, limits: { ...plain.limits, channelsPerConnection: 1 } };
  const all = new Set<FakeConnection>();
  return {
    limit,
    logged,
    connect() {
      const connection = new FakeConnection({ app });
      all.add(connection);
      return connection;
    },
    disconnect(connection: FakeConnection) {
      all.delete(connection);
      limit.closed(connection);
    },
    pass(seconds: number) {
      clock.advance(seconds * 1000);
      for (const connection of all) limit.pay(connection, seconds);
    },
  };
}

/** What a connection owes for so many frames. */
const owes = (connection: FakeConnection, frames: number) => connection.chargeAnswer(4096 * frames);

describe('the answers to a connection', () => {
  it('count one frame for 4 KiB, and one for 16 events', () => {
    const connection = stage().connect();
    connection.chargeAnswer(1024);
    connection.chargeAnswer(8192 - 1024, 8);
    expect(connection.answerDebt).toBe(2.5);
  });

  it('do not delay a subscription up to a burst', () => {
    const { limit, connect } = stage();
    const connection = connect();
    owes(connection, BURST);
    expect(limit.turn(connection)).toBeUndefined();
  });

  it('make the next subscription wait above the burst, until enough is paid off', async () => {
    const { limit, connect, pass, logged } = stage();
    const connection = connect();
    owes(connection, BURST + 15);
    let turns = 0;
    void Promise.resolve(limit.turn(connection)).then(() => turns++);
    expect(limit.isWaiting(connection)).toBe(true);
    expect(logged).toMatchObject([{ fields: { setting: 'channels.framesPerSecond' } }]);
    pass(1);
    await settled();
    expect(turns).toBe(0);
    pass(1);
    await settled();
    expect([turns, limit.isWaiting(connection)]).toEqual([1, false]);
    expect(limit.turn(connection)).toBeUndefined();
  });

  it('make only their own connection wait', () => {
    const { limit, connect } = stage();
    const [greedy, honest] = [connect(), connect()];
    owes(greedy, 2 * BURST);
    expect(limit.turn(greedy)).toBeInstanceOf(Promise);
    expect(limit.turn(honest)).toBeUndefined();
  });

  it('are charged to the address: its connections wait, new ones too, and continue later', async () => {
    const { limit, connect, disconnect, pass, logged } = stage({ ofAddress: 1 });
    const first = connect();
    owes(first, 65);
    disconnect(first);
    const second = connect();
    let turns = 0;
    void Promise.resolve(limit.turn(second)).then(() => turns++);
    expect(logged).toMatchObject([
      { fields: { setting: 'channels.addressLimits.framesPerSecond' } },
    ]);
    pass(5);
    await settled();
    expect(turns).toBe(0);
    pass(1);
    await settled();
    expect(turns).toBe(1);
  });

  it('are charged to the address while they are paid off', () => {
    const { limit, connect, pass } = stage({ ofAddress: 1 });
    const greedy = Array.from({ length: 7 }, connect);
    for (const connection of greedy) owes(connection, 50);
    expect(limit.turn(connect())).toBeUndefined();
    pass(1);
    expect(limit.turn(connect())).toBeInstanceOf(Promise);
  });

  it('are forgotten with the connection', () => {
    const { limit, connect } = stage();
    const connection = connect();
    owes(connection, 2 * BURST);
    void limit.turn(connection);
    limit.closed(connection);
    expect(limit.isWaiting(connection)).toBe(false);
  });

  it('are not limited if frames are not', () => {
    const { limit, connect, pass } = stage({ perSecond: 0, ofAddress: 1 });
    const connection = connect();
    owes(connection, 1_000_000);
    expect(limit.turn(connection)).toBeUndefined();
    pass(1);
    limit.closed(connection);
    expect(limit.turn(connect())).toBeUndefined();
  });
});
