import { Unreadable } from '../../../runtime/unreadable.ts';
import { type Loop, Shares } from '../../shares.ts';
import type { RedisEngineServer } from '../engine-server.ts';
import { EventOutbox, type EventOutboxOptions } from '../event-outbox.ts';
import type { RedisListener } from '../link/redis-server.ts';
import { RedisAway } from '../link/reply.ts';
import type { RedisScript } from '../link/script.ts';
import type { RedisLink } from '../redis-link.ts';
import { ALL_SCRIPTS } from '../scripts/all-scripts.ts';
import { type FromOwner, failureOf, type LinkState, type ToOwner } from './messages.ts';
import { ProcessOutbox } from './process-outbox.ts';
import type { StreamMessage } from './stream-texts.ts';

/** The limit of characters of messages that a loop has not handled. A message counts as this many more. */
const UNHANDLED_MAX = 32 * 1024 * 1024;
export const MESSAGE_CHARACTERS = 100;

const scripts: ReadonlyMap<string, RedisScript> = new Map(
  ALL_SCRIPTS.map((script) => [script.sha1, script]),
);

export interface SharedLinkOptions {
  /** Where the connections lead to. */
  readonly server: RedisEngineServer;
  /** The loop that has the connections. */
  readonly owner: Loop;
  readonly send: (to: Loop, message: FromOwner) => void;
  readonly sendStreamMessage: (to: Loop, message: Omit<StreamMessage, 'link'>) => void;
  readonly meter: EventOutboxOptions['meter'];
}

/** What another loop has to handle. */
interface User {
  unhandled: number;
  /** It has too much to handle, so it gets nothing until it has caught up. */
  isBehind: boolean;
}

/**
 * The connections to Redis of one loop, which the other loops of the process use too. A stream that several of them
 * follow is followed once, and their events go together.
 *
 * They are opened when the first loop needs them, and closed when the last one has released them.
 */
export class SharedLink {
  private readonly options: SharedLinkOptions;
  private opening: Promise<RedisLink> | undefined;
  private link: RedisLink | undefined;
  private outbox: ProcessOutbox | undefined;
  /** Of the loop that has the connections. */
  private listener: RedisListener | undefined;
  /** Of its links that only send commands over this one. */
  private readonly halves: RedisListener[] = [];
  /** How many links of this loop use the connections. */
  private uses = 0;
  private readonly users = new Map<Loop, User>();
  private readonly followers = new Map<string, Shares>();
  private readonly closed = Promise.withResolvers<void>();

  constructor(options: SharedLinkOptions) {
    this.options = options;
  }

  /** Opens the link for the loop that has the connections. */
  async open(listener: RedisListener): Promise<RedisLink> {
    const link = await this.use();
    this.listener = listener;
    return this.linkOver(link);
  }

  /** Opens the link for commands of the loop that has the connections. */
  async openHalf(listener: RedisListener): Promise<RedisLink> {
    const link = await this.use();
    this.halves.push(listener);
    return this.linkOver(link);
  }

  /** Handles a message of another loop. */
  receive(from: Loop, message: ToOwner): void {
    switch (message[0]) {
      case 'open':
        return void this.openFor(from);
      case 'run':
        return this.answer(from, message[1], (link) => link.commands.run(message[2]));
      case 'script': {
        const [, number, sha1, keys, args] = message;
        const script = scripts.get(sha1);
        if (script === undefined) throw new Unreadable('Its script is not known');
        return this.answer(from, number, (link) => link.commands.script(script, { keys, args }));
      }
      case 'event': {
        const [, number, keys, streams, appId, topic, text] = message;
        return this.answer(from, number, async () => {
          const partition = this.outbox?.partition(keys, streams);
          if (partition !== undefined)
            await this.outbox?.add(partition, { appId, topic, message: text });
          return null;
        });
      }
      case 'after-events':
        return this.outbox?.sendBefore(this.outbox.partition(message[1], message[2]), message[3]);
      case 'after-all-events':
        return this.outbox?.sendAll();
      case 'follow':
        return this.answer(from, message[1], async (link) => {
          await this.follow(from, link, message[2]);
          return null;
        });
      case 'unfollow':
        return this.unfollow(from, message[1]);
      case 'handled':
        return this.handled(from, message[1]);
      case 'close':
        return this.release(from);
      default:
        message satisfies never;
        throw new Unreadable('Its kind is not known');
    }
  }

  private use(): Promise<RedisLink> {
    this.uses++;
    this.users.set(this.options.owner, newUser());
    return this.opened();
  }

  private linkOver(link: RedisLink): RedisLink {
    const { owner } = this.options;
    return {
      get away() {
        return link.away;
      },
      get master() {
        return link.master;
      },
      get serverId() {
        return link.serverId;
      },
      get dataId() {
        return link.dataId;
      },
      commands: link.commands,
      ...(this.outbox && { outbox: this.outbox }),
      subscriptions: {
        follow: (stream) => this.follow(owner, link, stream),
        unfollow: (stream) => this.unfollow(owner, stream),
      },
      close: () => {
        this.uses--;
        if (this.uses === 0) this.release(owner);
        return this.closed.promise;
      },
    };
  }

  private get listeners(): readonly RedisListener[] {
    return this.listener === undefined ? this.halves : [this.listener, ...this.halves];
  }

  private opened(): Promise<RedisLink> {
    this.opening ??= this.options.server
      .open({
        onAway: (away) => {
          for (const one of this.listeners) one.onAway(away);
          this.sendToOthers(['away', this.state(away)]);
        },
        onBack: () => {
          for (const one of this.listeners) one.onBack();
          this.sendBack();
        },
        onGap: (why) => {
          this.listener?.onGap(why);
          this.sendToOthers(['gap', why]);
        },
        onMessage: (stream, payload) => this.deliver(stream, payload),
      })
      .then((link) => {
        this.link = link;
        this.outbox = new ProcessOutbox(new EventOutbox({ link, meter: this.options.meter }));
        return link;
      });
    return this.opening;
  }

  private async openFor(from: Loop): Promise<void> {
    const { send } = this.options;
    try {
      const link = await this.opened();
      this.users.set(from, newUser());
      send(from, ['opened', this.state(link.away)]);
    } catch (error) {
      send(from, ['not-opened', failureOf(error)]);
    }
  }

  /** Sends the result of a command at its place among the messages of streams. */
  private answer(
    from: Loop,
    number: number,
    run: (link: RedisLink) => Promise<Awaited<ReturnType<RedisLink['commands']['run']>>>,
  ): void {
    const { link } = this;
    const { send } = this.options;
    const result = link === undefined ? Promise.reject(notOpen()) : run(link);
    result.then(
      (reply) => send(from, ['answered', number, reply]),
      (error: unknown) => send(from, ['failed', number, failureOf(error)]),
    );
  }

  private follow(loop: Loop, link: RedisLink, stream: string): Promise<void> {
    let loops = this.followers.get(stream);
    if (loops === undefined) {
      loops = new Shares();
      this.followers.set(stream, loops);
    }
    loops.state(loop, 1);
    return link.subscriptions.follow(stream);
  }

  private unfollow(loop: Loop, stream: string): void {
    const loops = this.followers.get(stream);
    loops?.state(loop, 0);
    if (loops?.total !== 0) return;
    this.followers.delete(stream);
    this.link?.subscriptions.unfollow(stream);
  }

  private deliver(stream: string, payload: string): void {
    const loops = this.followers.get(stream);
    // A message may still come when nobody follows the stream. Somebody must answer what it asks.
    if (loops === undefined) return this.listener?.onMessage(stream, payload);
    const count = loops.total;
    loops.forEachLoop((loop) => {
      if (loop === this.options.owner) this.listener?.onMessage(stream, payload, count);
      else this.sendMessage(loop, { stream, payload, loops: count });
    });
  }

  private sendMessage(loop: Loop, message: Omit<StreamMessage, 'link'>): void {
    const user = this.users.get(loop);
    if (user === undefined || user.isBehind) return;
    const { send, sendStreamMessage } = this.options;
    if (user.unhandled < UNHANDLED_MAX) {
      user.unhandled += message.payload.length + MESSAGE_CHARACTERS;
      sendStreamMessage(loop, message);
      return;
    }
    // As Redis does it with a connection that reads too slowly.
    user.isBehind = true;
    const why = 'this loop is behind with the messages of Redis';
    const away = { sinceMs: 0, why, isRefused: false, server: this.link?.master ?? '' };
    send(loop, ['away', this.state(away)]);
    send(loop, ['gap', why]);
  }

  private handled(from: Loop, characters: number): void {
    const user = this.users.get(from);
    if (user === undefined) return;
    user.unhandled -= characters;
    if (!user.isBehind || user.unhandled > UNHANDLED_MAX / 2) return;
    user.isBehind = false;
    const away = this.link?.away;
    this.options.send(from, [away === undefined ? 'back' : 'away', this.state(away)]);
  }

  private sendBack(): void {
    const back = ['back', this.state(undefined)] as const;
    for (const [loop, { isBehind }] of this.users) {
      if (loop !== this.options.owner && !isBehind) this.options.send(loop, back);
    }
  }

  private sendToOthers(message: FromOwner): void {
    for (const loop of this.users.keys()) {
      if (loop !== this.options.owner) this.options.send(loop, message);
    }
  }

  private release(loop: Loop): void {
    this.users.delete(loop);
    for (const stream of [...this.followers.keys()]) this.unfollow(loop, stream);
    if (this.users.size > 0) return;
    void Promise.resolve(this.link?.close()).then(this.closed.resolve, this.closed.reject);
  }

  private state(away: LinkState['away']): LinkState {
    const { master = '', serverId = '', dataId = '' } = this.link ?? {};
    return { away, master, serverId, dataId };
  }
}

function newUser(): User {
  return { unhandled: 0, isBehind: false };
}

function notOpen(): RedisAway {
  return new RedisAway('the link is not open', false);
}
