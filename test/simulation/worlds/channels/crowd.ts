import { Backend } from '../../clients/backend.ts';
import type { ClientWorld, CrowdMember } from '../../clients/crowd-member.ts';
import { PusherClient, type PusherTransport } from '../../clients/pusher-client.ts';
import { RawClient } from '../../clients/raw-client.ts';
import { Context } from '../../kernel/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { allChannels, channels, drawPart, goesToNewcomers, presenceChannels } from './app.ts';

/** How long a silent connection stays, at most. Milliseconds. */
const SILENT_MS = 40_000;
/** A slow reader's connection breaks before anything in it is too late. Milliseconds. */
const SLOW_MS = 2_500;
const AWAY_MS = 15_000;
const BATCH = 3;
/** The data of a long event. Characters. */
const LONG = 6_000;

/** How clients connect: with the transports of `pusher-js`, or without it. */
const kinds: readonly (readonly PusherTransport[])[] = [
  [],
  [],
  ['ws'],
  ['ws'],
  ['xhr_streaming'],
  ['xhr_polling'],
  ['ws', 'xhr_streaming', 'xhr_polling'],
];

interface CrowdOptions {
  readonly count: number;
  /** Whether some have no WebSocket. */
  readonly hasHttpTransports: boolean;
}

/** The clients and the backend of a world, and what they do at random. */
export class Crowd {
  readonly members: readonly CrowdMember[];
  private readonly kernel: Kernel;
  private readonly world: ClientWorld;
  private readonly backend: Backend;
  private readonly contexts = new Map<CrowdMember, Context>();
  private readonly backendContext = new Context('backend');
  private readonly kinds: typeof kinds;
  private events = 0;

  constructor(kernel: Kernel, world: ClientWorld, { count, hasHttpTransports }: CrowdOptions) {
    this.kernel = kernel;
    this.world = world;
    this.backend = new Backend(world);
    this.kinds = hasHttpTransports ? kinds : kinds.filter(hasNoHttp);
    this.members = Array.from({ length: count }, (_, at) => this.newMember(at + 1));
  }

  get areReady(): boolean {
    return this.members.every(({ isReady }) => isReady);
  }

  connect(): void {
    for (const member of this.members) {
      this.in(member, () => member.connect(), this.kernel.random.next() * 500);
    }
  }

  stop(): void {
    for (const member of this.members) this.in(member, () => member.stop());
  }

  /** Triggers something. */
  trigger(): void {
    const { random } = this.kernel;
    const channel = random.pick(allChannels);
    const e = this.name();
    const roll = random.next();
    this.inBackend(() => {
      if (roll < 0.1) {
        const events = [e, ...Array.from({ length: BATCH - 1 }, () => this.name())];
        return void this.backend.triggerBatch(events, channel);
      }
      if (roll < 0.2) {
        // What is cached or replayed goes to everybody who comes, also to whom it excluded.
        const only = random.pick(allChannels.filter((name) => !goesToNewcomers.includes(name)));
        const except = random.pick(this.members).socket;
        return void this.backend.trigger({ e, channels: [only], except });
      }
      if (roll < 0.3) {
        const both = [...new Set([channel, random.pick(allChannels)])];
        return void this.backend.trigger({ e, channels: both });
      }
      if (roll < 0.4) return void this.backend.trigger({ e, channels: [channel], key: `key-${e}` });
      const padding = roll < 0.5 ? LONG : 0;
      return void this.backend.trigger({ e, channels: [channel], padding });
    });
  }

  /** Redis has lost its data. */
  dataLost(): void {
    this.backend.dataLost();
  }

  /** Triggers one event in each channel. */
  triggerEverywhere(): void {
    for (const channel of allChannels) {
      const e = this.name();
      this.inBackend(() => void this.backend.trigger({ e, channels: [channel] }));
    }
  }

  askUsers(): void {
    this.inBackend(() => {
      for (const channel of presenceChannels) void this.backend.askUsers(channel);
    });
  }

  whisper(): void {
    const member = this.pick(({ part }) => part.whispers === channels.whispers);
    const e = this.name();
    if (member !== undefined) this.in(member, () => member.whisper(e));
  }

  /** Somebody leaves a channel for a while. */
  move(): void {
    const { random } = this.kernel;
    const member = random.pick(this.members);
    const channel = random.pick(member.part.channels);
    this.in(member, () => member.leave(channel));
    this.in(member, () => member.enter(channel), random.next() * AWAY_MS);
  }

  /** Somebody leaves a presence channel for good. */
  leaveForGood(): void {
    for (const channel of presenceChannels) {
      const member = this.members.findLast(({ part }) => part.channels.includes(channel));
      if (member !== undefined) this.in(member, () => member.leave(channel));
    }
  }

  reopen(): void {
    const member = this.pick(isConnected);
    if (member !== undefined) this.in(member, () => member.reopen());
  }

  /** Breaks a connection. Returns whether there was one. */
  cut(): boolean {
    const member = this.pick(isConnected);
    member?.cut();
    return member !== undefined;
  }

  /** Lets a connection be silent for a while, after which it breaks. Returns until when. */
  silence(): number | undefined {
    const { random } = this.kernel;
    const member = this.pick(isConnected);
    if (member === undefined) return undefined;
    const { socket } = member;
    const lastsMs = random.next() * SILENT_MS;
    member.silence();
    this.in(
      member,
      () => {
        if (member.socket === socket) member.cut();
      },
      lastsMs,
    );
    return this.kernel.nowMs + lastsMs;
  }

  /** Lets a client read slowly, until its connection breaks. */
  slowDown(): boolean {
    const { random } = this.kernel;
    const member = this.pick(isConnected);
    if (member === undefined) return false;
    const { socket } = member;
    member.slowDown(random.pick([0.05, 1, 10]));
    this.in(
      member,
      () => {
        if (member.socket === socket) member.cut();
      },
      random.next() * SLOW_MS,
    );
    return true;
  }

  private newMember(number: number): CrowdMember {
    const { kernel, world } = this;
    const { random } = kernel;
    const context = new Context(`client ${number}`);
    const part = drawPart(random, number);
    const kind = random.pick(this.kinds);
    kernel.context = context;
    const member =
      kind.length === 0 ? new RawClient(part, world) : new PusherClient(part, world, kind);
    kernel.context = kernel.world;
    kernel.trace?.(`client ${number}: ${kind.join(' or ') || 'raw'} ${JSON.stringify(part)}`);
    this.contexts.set(member, context);
    return member;
  }

  private pick(fits: (member: CrowdMember) => boolean): CrowdMember | undefined {
    return this.kernel.random.pickIfAny(this.members.filter(fits));
  }

  private in(member: CrowdMember, run: () => void, delayMs = 0): void {
    this.kernel.after(delayMs, run, this.contexts.get(member));
  }

  private inBackend(run: () => void): void {
    this.kernel.after(0, run, this.backendContext);
  }

  private name(): string {
    return String(++this.events);
  }
}

function hasNoHttp(transports: readonly PusherTransport[]): boolean {
  return transports.every((one) => one === 'ws');
}

function isConnected({ socket }: CrowdMember): boolean {
  return socket !== undefined;
}
