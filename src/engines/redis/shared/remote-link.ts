import { EngineUnavailable } from '../../../channels/engine-failure.ts';
import type { CommandArgs } from '../link/encode-command.ts';
import type { RedisListener } from '../link/redis-server.ts';
import { RedisAway, type Reply } from '../link/reply.ts';
import type { RedisLink } from '../redis-link.ts';
import type { EventPartition, PlainEvent, WaitingEvents } from '../waiting-events.ts';
import { errorOf, type FromOwner, type LinkState, type ToOwner } from './messages.ts';
import { PendingAsks } from './pending-asks.ts';
import { MESSAGE_CHARACTERS } from './shared-link.ts';
import type { StreamMessage } from './stream-texts.ts';

const COMMANDS_MAX = { count: 50_000, characters: 32 * 1024 * 1024 };

/** Twice the limit of the outbox on the other loop. So that outbox is full first, and refuses the events of the largest app. */
const EVENTS_MAX = { count: 100_000, characters: 64 * 1024 * 1024 };

/** After this many characters of handled messages, the other loop learns of it. */
const HANDLED_CHARACTERS = 256 * 1024;

/**
 * A link to Redis over the connections of another loop. Messages between threads are never lost, and the other loop
 * settles each command, so nothing here has a timeout.
 */
export class RemoteLink implements RedisLink {
  readonly commands: RedisLink['commands'];
  readonly subscriptions: RedisLink['subscriptions'];
  readonly outbox: WaitingEvents;
  private readonly send: (message: ToOwner) => void;
  private readonly opening = Promise.withResolvers<void>();
  private listener: RedisListener | undefined;
  private state: LinkState = { away: undefined, master: '', serverId: '', dataId: '' };
  private readonly asked = new PendingAsks(COMMANDS_MAX);
  private readonly events = new PendingAsks(EVENTS_MAX);
  /** The apps with events that may wait in the outbox, by partition. */
  private readonly waiting = new Set<string>();
  private numbers = 0;
  private handled = 0;

  constructor(send: (message: ToOwner) => void) {
    this.send = send;
    const { asked } = this;
    this.commands = {
      get waiting() {
        return asked.count;
      },
      run: (args) => this.ask(args, (number) => ['run', number, args]),
      script: ({ sha1 }, { keys, args }) =>
        this.ask(args, (number) => ['script', number, sha1, keys, args]),
    };
    this.subscriptions = {
      follow: async (stream) => {
        const number = ++this.numbers;
        send(['follow', number, stream]);
        await asked.add(number, stream.length);
      },
      unfollow: (stream) => send(['unfollow', stream]),
    };
    this.outbox = {
      // The other loop counts them.
      waiting: 0,
      add: (partition, event) => this.publish(partition, event),
      sendBefore: (partition, appId) => this.sendBefore(partition, appId),
      sendAll: () => send(['after-all-events']),
    };
  }

  /** See `RedisEngineServer`. */
  async open(listener: RedisListener): Promise<RedisLink> {
    this.listener = listener;
    this.send(['open']);
    await this.opening.promise;
    return this;
  }

  get away(): RedisLink['away'] {
    return this.state.away;
  }

  get master(): string {
    return this.state.master;
  }

  get serverId(): string {
    return this.state.serverId;
  }

  get dataId(): string {
    return this.state.dataId;
  }

  /** Handles a message of the loop that has the connections. */
  receive(message: FromOwner): void {
    switch (message[0]) {
      case 'opened':
        this.state = message[1];
        return this.opening.resolve();
      case 'not-opened':
        return this.opening.reject(errorOf(message[1]));
      case 'answered':
        return this.take(message[1])?.resolve(message[2]);
      case 'failed':
        return this.take(message[1])?.reject(errorOf(message[2]));
      case 'away':
        this.state = message[1];
        if (message[1].away !== undefined) this.listener?.onAway(message[1].away);
        return;
      case 'gap':
        return this.listener?.onGap(message[1]);
      case 'back':
        this.state = message[1];
        return this.listener?.onBack();
      default:
        message satisfies never;
    }
  }

  /** Handles a message of a stream. */
  hear({ stream, payload, loops }: StreamMessage): void {
    this.listener?.onMessage(stream, payload, loops);
    this.noteHandled(payload.length + MESSAGE_CHARACTERS);
  }

  /** The other loop closes the connections when no loop needs them. */
  async close(): Promise<void> {
    this.listener = undefined;
    this.send(['close']);
    this.asked.close();
    this.events.close();
  }

  private ask(args: CommandArgs, messageOf: (number: number) => ToOwner): Promise<Reply> {
    const characters = lengthOf(args);
    if (!this.asked.fits(characters)) return Promise.reject(tooMany('commands'));
    const number = ++this.numbers;
    this.send(messageOf(number));
    return this.asked.add(number, characters);
  }

  private async publish(partition: EventPartition, event: PlainEvent): Promise<void> {
    const { appId, topic, message } = event;
    try {
      if (!this.events.fits(message.length)) throw tooMany('events');
      const number = ++this.numbers;
      const { keys } = partition;
      if (this.events.count === 0) this.waiting.clear();
      this.waiting.add(`${keys} ${appId}`);
      this.send(['event', number, keys, partition.streamOf(''), appId, topic, message]);
      await this.events.add(number, message.length);
    } catch (cause) {
      throw new EngineUnavailable('Redis has not answered', { cause });
    }
  }

  private sendBefore(partition: EventPartition, appId: string): void {
    const { keys } = partition;
    if (this.events.count === 0 || !this.waiting.delete(`${keys} ${appId}`)) return;
    this.send(['after-events', keys, partition.streamOf(''), appId]);
  }

  private take(number: number) {
    return this.asked.take(number) ?? this.events.take(number);
  }

  private noteHandled(characters: number): void {
    this.handled += characters;
    if (this.handled < HANDLED_CHARACTERS) return;
    this.send(['handled', this.handled]);
    this.handled = 0;
  }
}

function tooMany(what: string): RedisAway {
  return new RedisAway(`too many ${what} wait for Redis`, false);
}

function lengthOf(args: CommandArgs): number {
  let characters = 0;
  for (const arg of args) characters += typeof arg === 'string' ? arg.length : 1;
  return characters;
}
