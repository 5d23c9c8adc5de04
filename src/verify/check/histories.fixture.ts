import { Random } from '../../../testing/random.ts';
import type { Header, Line } from '../history/line.ts';

export const HEADER: Header = {
  history: 1,
  by: 'a test',
  app: '1',
  T: 5000,
  rules: { kept: ['kept'], replay: [] },
  webhooks: true,
};

type Frame = (to: Client) => void;

interface Client {
  readonly c: number;
  n: number;
  socket: string;
  isOpen: boolean;
  /** What the server has sent on this connection and the client has not read. */
  frames: Frame[];
  /** What the server holds for it. */
  readonly subscriptions: Set<string>;
  readonly user: string;
  place: string;
  missed: number;
  /** The newest event of the history when it resumed. */
  upTo: string;
  sockets: string[];
}

interface Kept {
  readonly id: string;
  readonly e: string;
  readonly except: string | undefined;
}

/** The channels of the model: `news` is public, `kept` has a history, `presence-room` members. */
const PRESENCE = 'presence-room';

/** A server that is right, and clients that come and go by chance: makes a history in which every promise is kept. */
export function rightHistory(seed: number, steps = 1500): Line[] {
  const random = new Random(seed);
  const lines: Line[] = [];
  let t = 0;
  const say = (line: object) => lines.push({ t, ...line } as Line);
  const clients: Client[] = [];
  const kept: Kept[] = [];
  /** Requests that are under way, in the order of their ends. */
  let requests: (() => void)[] = [];
  let events = 0;
  let ids = 0;
  let wallRequests = 0;

  const subscribers = (ch: string) => clients.filter(({ subscriptions: s }) => s.has(ch));
  const users = () => [...new Set(subscribers(PRESENCE).map(({ user }) => user))];
  const webhook = (name: string, ch: string, user?: string) => {
    const request = `r${wallRequests++}`;
    say({ op: 'webhook', ch, name, time: t, request, ...(user === undefined ? {} : { user }) });
  };
  const publish = (ch: string, e: string, { except = '', from = 0 } = {}): string | undefined => {
    const id = ch === 'kept' && from === 0 ? `${++ids}-abc${ids}` : undefined;
    if (id !== undefined) kept.push({ id, e, except });
    for (const client of subscribers(ch)) {
      if (client.socket === except || client.c === from) continue;
      client.frames.push((to) => receive(to, ch, e, id));
    }
    return id;
  };
  const receive = (to: Client, ch: string, e: string, id?: string) => {
    const { c, n } = to;
    say({ op: 'event', c, n, ch, e, ...(id === undefined ? {} : { id }) });
    if (id === undefined) return;
    if (to.missed > 0) to.missed--;
    to.place = to.missed === 0 && to.upTo !== '' ? to.upTo : id;
    if (to.missed === 0) {
      to.place = id;
      to.sockets = [to.socket];
    }
  };
  const counted = (ch: string) => {
    const count = subscribers(ch).length;
    for (const client of subscribers(ch)) {
      client.frames.push(({ c, n }) => say({ op: 'counted', c, n, ch, count }));
    }
  };
  const enter = (client: Client, ch: string, after?: string) => {
    const hadUser = users().includes(client.user);
    const isFirst = subscribers(ch).length === 0;
    if (ch === PRESENCE && !hadUser) {
      for (const other of subscribers(ch)) {
        other.frames.push(({ c, n }) => say({ op: 'joined', c, n, ch, user: client.user }));
      }
      webhook('member_added', ch, client.user);
    }
    client.subscriptions.add(ch);
    if (isFirst) webhook('channel_occupied', ch);
    const members = ch === PRESENCE ? { members: users() } : {};
    const at = kept.findIndex(({ id }) => id === after);
    const own = new Set([...client.sockets, client.socket]);
    const missed = after === undefined || at < 0 ? [] : kept.slice(at + 1);
    const due = missed.filter(({ except }) => except === undefined || !own.has(except));
    const id = kept.at(-1)?.id ?? '0-abc';
    const ok = after === '' || at >= 0;
    const resume = ch === 'kept' ? { resume: { ok, missed: due.length, id } } : {};
    client.frames.push((to) => {
      say({ op: 'subscribed', c: to.c, n: to.n, ch, ...members, ...resume });
      if (ch !== 'kept') return;
      to.missed = due.length;
      to.upTo = '';
      if (due.length === 0) {
        to.place = id;
        to.sockets = [to.socket];
      }
    });
    for (const event of due) client.frames.push((to) => receive(to, ch, event.e, event.id));
    counted(ch);
  };
  const leave = (client: Client, ch: string) => {
    client.subscriptions.delete(ch);
    if (ch === PRESENCE && !users().includes(client.user)) {
      for (const other of subscribers(ch)) {
        other.frames.push(({ c, n }) => say({ op: 'left', c, n, ch, user: client.user }));
      }
      webhook('member_removed', ch, client.user);
    }
    if (subscribers(ch).length === 0) webhook('channel_vacated', ch);
    counted(ch);
  };
  const connect = (client: Client) => {
    client.n++;
    client.socket = `${client.c}.${client.n}`;
    client.isOpen = true;
    client.sockets.push(client.socket);
    const { c, n, socket, user } = client;
    say({ op: 'open', c, n, socket });
    const ask = (ch: string, fields: object, after?: string) => {
      say({ op: 'subscribe', c, n, ch, ...fields });
      requests.push(() => {
        if (client.n === n && client.isOpen) enter(client, ch, after);
      });
    };
    ask('news', {});
    if (c % 2 === 1) ask('kept', { after: client.place }, client.place);
    else ask(PRESENCE, { user });
  };
  const cut = (client: Client) => {
    client.isOpen = false;
    client.frames = [];
    say({ op: 'close', c: client.c, n: client.n, code: 1006 });
    for (const ch of client.subscriptions) leave(client, ch);
  };
  const trigger = () => {
    const e = `e${events++}`;
    const ch = random.pick([['news'], ['kept'], [PRESENCE], ['news', 'kept', PRESENCE]]);
    const open = clients.filter(({ isOpen }) => isOpen);
    const except = random.chance(0.2) ? random.pickIfAny(open)?.socket : undefined;
    const key = random.chance(0.1) ? { key: `key-${e}` } : {};
    const line = { op: 'trigger', e, ch, ...(except === undefined ? {} : { except }), ...key };
    say(line);
    const status = random.chance(0.05) ? random.pick([0, 503, 400]) : 200;
    const reaches = status === 200 || (status !== 400 && random.chance(0.5));
    requests.push(() => {
      const given = reaches ? ch.map((name) => [name, publish(name, e, { except })]) : [];
      const named = Object.fromEntries(given.filter(([, id]) => id !== undefined));
      requests.push(() => {
        say({ op: 'answer', e, status, ...(status === 200 ? { ids: named } : {}) });
        if (status === 200 || !('key' in line)) return;
        say(line);
        const again = reaches
          ? () => undefined
          : () => ch.map((name) => publish(name, e, { except }));
        requests.push(() => {
          again();
          say({ op: 'answer', e, status: 200 });
        });
      });
    });
  };
  const whisper = () => {
    const from = random.pickIfAny(subscribers('news').filter(({ frames }) => frames.length === 0));
    if (from === undefined) return;
    const e = `e${events++}`;
    say({ op: 'whisper', c: from.c, n: from.n, ch: 'news', e });
    requests.push(() => publish('news', e, { from: from.c }));
  };
  const batch = () => {
    const names = [`e${events++}`, `e${events++}`, `e${events++}`];
    const number = events;
    for (const e of names) say({ op: 'trigger', e, ch: ['news'], batch: number });
    requests.push(() => {
      for (const e of names) publish('news', e);
      for (const e of names) say({ op: 'answer', e, status: 200 });
    });
  };
  const notify = () => {
    const p = `p${events++}`;
    const user = `user-${random.between(0, 3)}`;
    const live = `${p}-live`;
    say({ op: 'trigger', e: live, ch: ['news'] });
    say({ op: 'publish', p, devices: { [`${user}-phone`]: user, other: null }, live });
    requests.push(() => {
      say({ op: 'published', p, status: 200, id: p });
      publish('news', live);
      say({ op: 'notified', p, d: 'other', result: 'accepted' });
      // Only these have told who they are.
      const isReached = clients.some(
        (one) => one.user === user && one.c % 2 === 0 && one.subscriptions.has('news'),
      );
      const phone = { p, d: `${user}-phone` };
      if (isReached) {
        flush();
        say({ op: 'explained', ...phone, state: 'live-reached' });
      } else say({ op: 'notified', ...phone, result: 'accepted' });
    });
  };
  const flush = () => {
    for (const client of clients) {
      const { frames } = client;
      client.frames = [];
      for (const frame of frames) frame(client);
    }
  };

  for (let c = 1; c <= 8; c++) {
    const user = `user-${c % 4}`;
    const client: Client = {
      c,
      n: 0,
      socket: '',
      isOpen: false,
      frames: [],
      subscriptions: new Set(),
      user,
      place: '',
      missed: 0,
      upTo: '',
      sockets: [],
    };
    clients.push(client);
    connect(client);
  }
  for (let step = 0; step < steps; step++) {
    t += random.between(0, 20);
    const client = random.pick(clients);
    const action = random.next();
    if (action < 0.5) client.frames.shift()?.(client);
    else if (action < 0.75)
      requests.splice(random.between(0, Math.min(2, requests.length - 1)), 1)[0]?.();
    else if (action < 0.9) trigger();
    else if (action < 0.93) whisper();
    else if (action < 0.95) batch();
    else if (action < 0.96) notify();
    else if (action < 0.98) {
      if (client.isOpen) cut(client);
    } else if (!client.isOpen) connect(client);
    if (step % 50 === 0) flush();
  }
  const settle = () => {
    while (requests.length > 0) {
      const due = requests;
      requests = [];
      for (const finish of due) finish();
      flush();
    }
    flush();
  };
  for (const client of clients) if (!client.isOpen) connect(client);
  settle();
  t += 11_000;
  say({ op: 'calm' });
  say({ op: 'users', ch: PRESENCE, status: 200, users: users() });
  return lines;
}
