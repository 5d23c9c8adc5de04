import { FakeTime } from '../../../testing/fake-time.ts';
import { appWith } from '../../channels/hub.fixture.ts';
import { ClientLibraries } from '../clients/client-libraries.ts';
import { endWith } from '../clients/closing/end.ts';
import { ClientConnections } from '../clients/connections.ts';
import { HttpRoom } from '../clients/http-room.ts';
import { UnreadAnswers } from '../unread-answers.ts';
import type { FallbackConnection } from './fallback-connection.ts';
import type { Outlet } from './receiver.ts';
import { ResponseEnd } from './response-end.ts';
import { HttpSessions } from './sessions.ts';

export const app = appWith();

/** A response that keeps what is written to it. The socket takes it at once, unless `waiting` is set. */
class FakeOutlet implements Outlet {
  readonly written: string[] = [];
  readonly over = new ResponseEnd();
  waiting = 0;
  onWrite: () => void = () => undefined;
  private readonly isStream: boolean;

  constructor(isStream: boolean) {
    this.isStream = isStream;
  }

  write(lines: string): void {
    this.written.push(lines);
    this.onWrite();
    if (!this.isStream && this.waiting === 0) this.over.ended();
  }

  end(): void {
    this.written.push('(ended)');
    if (this.waiting === 0) this.over.ended();
  }

  break(): void {
    this.written.push('(broken)');
  }

  waitingBytes(): number {
    return this.waiting;
  }

  /** What was written since the last call. */
  news(): string {
    return this.written.splice(0).join('');
  }
}

/** The sessions of a loop, with everything around them made up. */
export function loop({
  connectionsMax = 100,
  sendBufferBytes = 1000,
  places = Infinity,
  busyShare = 0,
  hasOtherLoops = false,
  isQuotaElsewhere = false,
} = {}) {
  const time = new FakeTime();
  const opened: FallbackConnection[] = [];
  const ended: string[] = [];
  const heard: string[] = [];
  const forgotten: string[] = [];
  const turns: (() => void)[] = [];
  const arrivals: (() => void)[] = [];
  let made = 0;
  const unreadAnswers = new UnreadAnswers({
    bytesMax: 100_000,
    clock: time,
    onBroken: () => undefined,
  });
  const sessions = new HttpSessions({
    clients: {
      mayConnect: () => true,
      wouldRefuse: () => false,
      refuse: (connection, { problem }) => endWith(connection, problem),
      takePlace() {
        const hasPlace = --places >= 0;
        return isQuotaElsewhere ? Promise.resolve(hasPlace) : hasPlace;
      },
      releasePlace: () => undefined,
      makeRoomFor: () => undefined,
      open(connection) {
        opened.push(connection as FallbackConnection);
        connection.send('established');
      },
      noteActivity: () => undefined,
      libraries: new ClientLibraries(),
      received: (_, frame) => void heard.push(frame),
      receivedControl: () => undefined,
      closed(connection) {
        ended.push(String(connection.firstHalf));
        return false;
      },
      closedTooSlow: () => void ended.push('too slow'),
    },
    apps: { byKey: (key) => (key === 'key' ? app : undefined), byId: () => app },
    connections: Object.assign(new ClientConnections(), { newFirstHalf: () => ++made }),
    room: new HttpRoom(
      { endForRoom: (connection) => endWith(connection, 'server-over-capacity') },
      connectionsMax,
    ),
    sendBufferBytes,
    unread: unreadAnswers,
    timers: time,
    afterTurn: (run) => void turns.push(run),
    busyShare: () => busyShare,
    log: { info: () => undefined },
    meter: { count: () => undefined },
    onForgotten: (session) => void forgotten.push(session),
    afterArrivals: (run) => (hasOtherLoops ? void arrivals.push(run) : run()),
  });
  let number = 0;
  const receive = (session: string, isStream: boolean, address = 1, again = ++number) => {
    const outlet = new FakeOutlet(isStream);
    const request = { session, key: 'key', query: 'protocol=7', isStream, address };
    outlet.over.passTo(sessions.receive({ ...request, number: again }, outlet));
    return Object.assign(outlet, { gone: outlet.over.ended });
  };
  return {
    time,
    sessions,
    opened,
    ended,
    heard,
    forgotten,
    unreadAnswers,
    stream: (session: string, address?: number) => receive(session, true, address),
    poll: (session: string, address?: number) => receive(session, false, address),
    /** The request that was sent `before` requests ago, as a browser or a proxy repeats it. */
    repeat: (session: string, isStream: boolean, before = 0) =>
      receive(session, isStream, 1, number - before),
    /** Lets the quota answer all who ask. */
    asked: () => time.advance(0),
    /** The requests that had arrived at other loops are known. */
    arrived() {
      for (const run of arrivals.splice(0)) run();
    },
    /** Lets turns of the loop pass until nothing is left to write. */
    turn() {
      for (const run of turns.splice(0)) run();
    },
    /** Lets time pass, and checks the sessions once a second. */
    async pass(seconds: number) {
      for (let n = 0; n < seconds; n++) {
        await time.advance(1000);
        sessions.check();
      }
    },
  };
}
