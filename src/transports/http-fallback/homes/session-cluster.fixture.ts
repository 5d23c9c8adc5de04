import { FakeTime } from '../../../../testing/fake-time.ts';
import type { Outlet } from '../receiver.ts';
import type { ResponseEnded } from '../response-end.ts';
import { type SessionBus, type SessionBusListener, SessionCluster } from './session-cluster.ts';
import type { Loss, ReceiveRequest, SessionSendRequest } from './session-home.ts';

export const ADDRESS = 1;

/** Sessions that keep what they are asked. */
class FakeSessions {
  readonly known = new Set<string>();
  readonly outlets: Outlet[] = [];
  readonly log: string[] = [];

  has(session: string): boolean {
    return this.known.has(session);
  }

  names(): readonly string[] {
    return [...this.known];
  }

  appOf(session: string): string | undefined {
    return this.known.has(session) ? 'app' : undefined;
  }

  receive({ session }: ReceiveRequest, outlet: Outlet): ResponseEnded {
    this.known.add(session);
    this.outlets.push(outlet);
    return (why) => void this.log.push(`ended${why === undefined ? '' : `: ${why}`}`);
  }

  send({ frames }: SessionSendRequest): void {
    this.log.push(...(frames.length === 0 ? ['(nothing)'] : frames));
  }

  lost(session: string, why: Loss): void {
    this.log.push(`${why}: ${session}`);
  }

  mayOpen({ key }: ReceiveRequest): boolean {
    return key === 'key';
  }
}

class FakeOutlet implements Outlet {
  readonly written: string[] = [];
  waiting = 0;
  onEnd: ResponseEnded = () => undefined;

  write(lines: string): void {
    this.written.push(lines);
  }

  end(): void {
    this.written.push('(ended)');
    this.onEnd();
  }

  break(): void {
    this.written.push('(broken)');
    this.onEnd();
  }

  waitingBytes(): number {
    return this.waiting;
  }
}

/** Loops with a bus that can fail. */
function loops(...names: readonly string[]) {
  const time = new FakeTime();
  const claims = new Map<string, string>();
  const notes = new Map<string, string[]>();
  const listeners = new Map<string, SessionBusListener>();
  const state = {
    isAway: false,
    dead: new Set<string>(),
    questions: 0,
    isRefused: false,
    /** A loss is noted after this. */
    noting: Promise.resolve(),
    held: undefined as (() => void)[] | undefined,
    /** Keeps all messages on their way. */
    hold() {
      state.held = [];
    },
    release() {
      const held = state.held ?? [];
      state.held = undefined;
      for (const deliver of held) deliver();
    },
  };
  const asked = <T>(answer: () => T): Promise<T> => {
    state.questions++;
    return state.isAway ? Promise.reject(new Error('away')) : Promise.resolve(answer());
  };
  const members = names.map((self) => {
    const sessions = new FakeSessions();
    const bus: SessionBus = {
      self,
      claim: (session) =>
        asked(() => {
          const owner = claims.get(session) ?? self;
          claims.set(session, owner);
          return owner;
        }),
      find: (session) => asked(() => claims.get(session)),
      take: (session) => void claims.set(session, self),
      async renew(all) {
        for (const session of all) claims.set(session, self);
      },
      release: (session) => void claims.delete(session),
      async noteLoss(loop, session) {
        await state.noting;
        await asked(() => notes.set(loop, [...(notes.get(loop) ?? []), session]));
      },
      losses: () => asked(() => notes.get(self) ?? []),
      send(to, text) {
        const deliver = () => listeners.get(to)?.onMessage(self, text);
        if (state.dead.has(to)) queueMicrotask(() => listeners.get(self)?.onLoss(to));
        else if (state.held === undefined) deliver();
        else state.held.push(deliver);
      },
      listen: (listener) => void listeners.set(self, listener),
    };
    const cluster = new SessionCluster({
      bus,
      sessions,
      wouldRefuse: () => state.isRefused,
      sendBufferBytes: 1000,
      timers: time,
    });
    const receive = async (session: string, key = 'key', isStream = true) => {
      const outlet = new FakeOutlet();
      const request = { session, key, query: '', isStream, number: 1, address: ADDRESS };
      const home = await cluster.receivingAt(request);
      outlet.onEnd = home.receive(request, outlet);
      return outlet;
    };
    const poll = (session: string) => receive(session, 'key', false);
    return { sessions, cluster, receive, poll, listener: () => listeners.get(self) };
  });
  const pass = async (seconds: number, ...checked: readonly (typeof members)[number][]) => {
    for (let n = 0; n < seconds; n++) {
      await time.advance(1000);
      for (const { cluster } of checked.length > 0 ? checked : members) cluster.check();
    }
  };
  return { time, claims, state, members, pass };
}

export function pair() {
  const { members, ...rest } = loops('a', 'b');
  const [a, b] = members;
  if (a === undefined || b === undefined) throw new Error('There are two');
  return { a, b, ...rest };
}
