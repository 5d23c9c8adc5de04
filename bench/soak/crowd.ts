import type { Random } from '../../testing/random.ts';
import type { AppAddress } from '../bench-app.ts';
import { EVENT_NAME } from '../load/bench-event.ts';
import { eventBody, signedTarget } from '../load/trigger-request.ts';
import { type Receiver, SoakClient, type SoakMessage } from './client.ts';
import { Expectations } from './expectations.ts';

/** A channel, as the clients know it. */
interface Room {
  readonly name: string;
  readonly members: Set<SoakClient>;
  /** A client does something in it. Others wait, so that the receivers are known exactly. */
  busy: boolean;
}

interface Visitor {
  client: SoakClient;
  readonly rooms: Set<Room>;
  busy: boolean;
}

const WAIT_MAX_MS = 20_000;

/** How many actions run concurrently, and the mean pause after each. Milliseconds. */
const HANDS = 64;
const PAUSE_MS = 40;

/** The limit of a client's channels. */
const ROOMS_MAX = 4;

/** How many actions of each kind were done. */
export interface Deeds {
  connected: number;
  disconnected: number;
  subscribed: number;
  unsubscribed: number;
  triggered: number;
  whispered: number;
}

/**
 * Clients that connect, disconnect, subscribe and chat at random, with exact knowledge of what each must receive.
 * Only one action at a time runs in a channel; those in different channels run concurrently.
 */
export class Crowd implements Receiver {
  readonly deeds: Deeds = {
    connected: 0,
    disconnected: 0,
    subscribed: 0,
    unsubscribed: 0,
    triggered: 0,
    whispered: 0,
  };
  readonly expectations = new Expectations<SoakClient>(WAIT_MAX_MS);
  private readonly app: AppAddress;
  private readonly random: Random;
  private readonly rooms: readonly Room[];
  private readonly visitors: Visitor[] = [];
  private users = 0;
  private coming = 0;
  private events = 0;

  constructor(app: AppAddress, random: Random, rooms: number) {
    this.app = app;
    this.random = random;
    const kinds = ['', 'private-', 'presence-'];
    this.rooms = Array.from({ length: rooms }, (_, n) => ({
      name: `${kinds[n % kinds.length]}room-${n}`,
      members: new Set(),
      busy: false,
    }));
  }

  get connections(): number {
    return this.visitors.length;
  }

  /** Connects all clients. */
  async gather(connections: number): Promise<void> {
    await inParallel(async () => {
      while (this.visitors.length + this.coming < connections) {
        this.coming++;
        const client = await this.connect();
        this.coming--;
        this.visitors.push({ client, rooms: new Set(), busy: false });
      }
    });
  }

  /** Acts until it is stopped. */
  async live(isOver: () => boolean): Promise<void> {
    await inParallel(async () => {
      while (!isOver()) {
        await this.doSomething();
        await Bun.sleep(this.random.next() * 2 * PAUSE_MS);
      }
    });
  }

  /** Disconnects all clients, some with a close handshake and some without. */
  async disperse(): Promise<void> {
    for (const { client, rooms } of this.visitors) {
      for (const room of rooms) room.members.delete(client);
      this.deeds.unsubscribed += rooms.size;
      this.deeds.disconnected++;
      if (this.random.next() < 0.5) client.close();
      else client.drop();
    }
    this.visitors.length = 0;
  }

  received(client: SoakClient, { event, channel, data }: SoakMessage): void {
    switch (event) {
      case 'pusher_internal:subscription_succeeded':
        return this.expectations.received(confirmation(client, channel, idsOf(data)), client);
      case 'pusher_internal:member_added':
      case 'pusher_internal:member_removed': {
        const { user_id: userId } = JSON.parse(String(data));
        return this.expectations.received(`${event} ${channel} ${userId}`, client);
      }
      case 'pusher:pong':
        return this.expectations.received(`pong for ${client.userId}`, client);
      default:
        return this.expectations.received(`${event} ${channel} ${data}`, client);
    }
  }

  lost(client: SoakClient, why: string): void {
    this.expectations.fault(`the server ended the connection of ${client.userId}: ${why}`);
  }

  private async connect(): Promise<SoakClient> {
    this.deeds.connected++;
    return await SoakClient.connect(this.app, `user-${this.users++}`, this);
  }

  private async doSomething(): Promise<void> {
    const visitor = this.random.pickIfAny(this.visitors);
    if (visitor === undefined || visitor.busy) return;
    const chance = this.random.next();
    const mine = this.random.pickIfAny([...visitor.rooms]);
    if (chance < 0.05) await this.alone(visitor, [...visitor.rooms], () => this.replace(visitor));
    else if (mine === undefined || (chance < 0.35 && visitor.rooms.size < ROOMS_MAX)) {
      // Some channels are full, and many nearly empty.
      const room = this.rooms[Math.floor(this.random.next() ** 2 * this.rooms.length)];
      if (room === undefined || visitor.rooms.has(room)) return;
      await this.alone(visitor, [room], () => this.join(visitor, room));
    } else if (chance < 0.55) {
      await this.alone(visitor, [mine], () => this.leave(visitor, mine));
    } else if (chance < 0.8 || !/^(private|presence)-/.test(mine.name)) {
      await this.alone(visitor, [mine], () => this.trigger(mine));
    } else {
      await this.alone(visitor, [mine], () => this.whisper(visitor, mine));
    }
  }

  /** Runs an action in a channel, unless another one is running there. */
  private async alone(
    visitor: Visitor,
    rooms: readonly Room[],
    work: () => Promise<void>,
  ): Promise<void> {
    if (rooms.some(({ busy }) => busy)) return;
    visitor.busy = true;
    for (const room of rooms) room.busy = true;
    await work();
    for (const room of rooms) room.busy = false;
    visitor.busy = false;
  }

  private async join({ client, rooms }: Visitor, room: Room): Promise<void> {
    const others = [...room.members];
    room.members.add(client);
    rooms.add(room);
    this.deeds.subscribed++;
    const announced = [
      this.expectations.expect(confirmation(client, room.name, this.usersOf(room)), [client]),
      this.news('added', room, client, others),
    ];
    client.subscribe(room.name);
    await Promise.all(announced);
  }

  private async leave({ client, rooms }: Visitor, room: Room): Promise<void> {
    const announced = this.gone(client, room);
    rooms.delete(room);
    // An unsubscription has no answer, but a message sent after it has.
    const done = this.expectations.expect(`pong for ${client.userId}`, [client]);
    client.unsubscribe(room.name);
    client.ping();
    await Promise.all([announced, done]);
  }

  /** A client disconnects, and another one connects. */
  private async replace(visitor: Visitor): Promise<void> {
    const { client, rooms } = visitor;
    const announced = [...rooms].map((room) => this.gone(client, room));
    rooms.clear();
    this.deeds.disconnected++;
    if (this.random.next() < 0.5) client.close();
    else client.drop();
    visitor.client = await this.connect();
    await Promise.all(announced);
  }

  private gone(client: SoakClient, room: Room): Promise<void> {
    room.members.delete(client);
    this.deeds.unsubscribed++;
    return this.news('removed', room, client, [...room.members]);
  }

  private async news(
    what: 'added' | 'removed',
    room: Room,
    { userId }: SoakClient,
    others: readonly SoakClient[],
  ): Promise<void> {
    if (!room.name.startsWith('presence-')) return;
    await this.expectations.expect(`pusher_internal:member_${what} ${room.name} ${userId}`, others);
  }

  private async trigger(room: Room): Promise<void> {
    const data = `event-${this.events++}`;
    const announced = this.expectations.expect(`${EVENT_NAME} ${room.name} ${data}`, room.members);
    this.deeds.triggered++;
    const why = await this.post(room.name, data);
    if (why !== undefined) this.expectations.fault(`an event was not taken: ${why}`);
    await announced;
  }

  private async whisper({ client }: Visitor, room: Room): Promise<void> {
    const data = `whisper-${this.events++}`;
    const others = [...room.members].filter((member) => member !== client);
    const announced = this.expectations.expect(`client-chat ${room.name} ${data}`, others);
    this.deeds.whispered++;
    client.whisper(room.name, data);
    await announced;
  }

  /** Returns the fault, if any. */
  private async post(channel: string, data: string): Promise<string | undefined> {
    const body = eventBody(channel, data);
    const { host, port } = this.app;
    const target = signedTarget(this.app, 'POST', '/events', body);
    const response = await fetch(`http://${host}:${port}${target}`, { method: 'POST', body });
    const text = await response.text();
    return response.status === 200 ? undefined : `${response.status} ${text}`;
  }

  private usersOf(room: Room): readonly string[] {
    if (!room.name.startsWith('presence-')) return [];
    return [...room.members].map(({ userId }) => userId);
  }
}

/** The messages that confirm a subscription, with the members. */
function confirmation(
  { userId }: SoakClient,
  channel: string | undefined,
  users: readonly string[],
): string {
  return `${userId} is in ${channel} with ${[...users].sort().join()}`;
}

function idsOf(data: unknown): readonly string[] {
  return JSON.parse(String(data)).presence?.ids ?? [];
}

/** Runs an action many times concurrently. */
async function inParallel(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: HANDS }, work));
}
