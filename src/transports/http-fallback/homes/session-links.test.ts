import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { Outlet } from '../receiver.ts';
import { RemoteHome } from './remote-home.ts';
import type { LocalSessions, ReceiveRequest } from './session-home.ts';
import { type SessionLinkMessage, SessionLinks } from './session-links.ts';

/** Source: HTTP transports, §14.8. */

/** Two loops of a process. Messages wait for `pass`. */
function twoLoops() {
  const time = new FakeTime();
  const messages: (() => void)[] = [];
  const turns: (() => void)[] = [];
  const log: string[] = [];
  const loops = [0, 1].map((loop): SessionLinks => {
    const sessions: LocalSessions = {
      receive() {
        log.push(`opened on ${loop}`);
        return () => undefined;
      },
      appOf: () => 'app',
      send: () => undefined,
      lost: () => undefined,
      has: () => false,
      names: () => [],
      mayOpen: () => true,
    };
    return new SessionLinks({
      loop,
      loops: 2,
      sessions,
      send: (to: number, message: SessionLinkMessage) =>
        void messages.push(() => loops[to]?.receive(loop, message)),
      sendBufferBytes: 1000,
      timers: time,
      afterTurn: (run) => void turns.push(run),
    });
  });
  const [first, second] = loops;
  if (first === undefined || second === undefined) throw new Error('There are two');
  return {
    time,
    log,
    first,
    second,
    /** Lets messages arrive, and one turn of both loops pass. */
    pass() {
      for (const deliver of messages.splice(0)) deliver();
      for (const run of turns.splice(0)) run();
    },
  };
}

const OUTLET: Outlet = {
  write: () => undefined,
  end: () => undefined,
  break: () => undefined,
  waitingBytes: () => 0,
};

/** A request for a session that does not live on the loop. */
function elsewhere(loop: SessionLinks): ReceiveRequest {
  for (let n = 0; ; n++) {
    const session = `s${n}`;
    if (!(loop.knowing(session) instanceof RemoteHome)) continue;
    return { session, key: 'key', query: '', isStream: true, number: 1, address: 1 };
  }
}

describe('a session on another loop of the process', () => {
  it('is opened there only, however long that loop is busy', async () => {
    const { time, log, first, pass } = twoLoops();
    const request = elsewhere(first);
    first.receivingAt(request).receive(request, OUTLET);
    const app = first.knowing(request.session).appOf(request.session);
    await time.advance(30_000);
    expect(log).toEqual([]);
    pass();
    expect(log).toEqual(['opened on 1']);
    pass();
    expect(await app).toBe('app');
  });

  it('is known to have no other request once all loops have read what had arrived', () => {
    const { first, second, log, pass } = twoLoops();
    first.afterArrivals(() => log.push('known'));
    // Served by the next round.
    first.afterArrivals(() => log.push('known again'));
    pass();
    // The other loop has accepted its connection in this turn, and reads it in the next one.
    pass();
    const request = elsewhere(second);
    second.receivingAt(request).receive(request, OUTLET);
    for (let turn = 0; turn < 8; turn++) pass();
    expect(log).toEqual(['opened on 0', 'known', 'known again']);
  });
});

it('needs no other loops to know that there are no other requests', () => {
  const log: string[] = [];
  const links = new SessionLinks({
    loop: 0,
    loops: 1,
    sessions: { has: () => false } as unknown as LocalSessions,
    send: () => log.push('sent'),
    sendBufferBytes: 1000,
    timers: new FakeTime(),
    afterTurn: () => undefined,
  });
  links.afterArrivals(() => log.push('known'));
  expect(log).toEqual(['known']);
});
