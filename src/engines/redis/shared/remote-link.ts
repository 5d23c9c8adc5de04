import type { CommandArgs } from '../link/encode-command.ts';
import type { RedisListener } from '../link/redis-server.ts';
import { RedisAway, type Reply } from '../link/reply.ts';
import type { RedisLink } from '../redis-link.ts';
import { errorOf, type FromOwner, type LinkState, type ToOwner } from './messages.ts';
import { MESSAGE_CHARACTERS } from './shared-link.ts';

/** The limits of commands without a reply. */
const WAITING_MAX = 50_000;
const WAITING_CHARACTERS_MAX = 32 * 1024 * 1024;

/** After this many characters of handled messages, the other loop learns of it. */
const HANDLED_CHARACTERS = 256 * 1024;

interface Waiting {
  readonly characters: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A link to Redis over the connections of another loop. Messages between threads are never lost, and the other loop
 * settles each command, so nothing here has a timeout.
 */
export class RemoteLink implements RedisLink {
  readonly commands: RedisLink['commands'];
  readonly subscriptions: RedisLink['subscriptions'];
  private readonly send: (message: ToOwner) => void;
  private readonly opening = Promise.withResolvers<void>();
  private listener: RedisListener | undefined;
  private state: LinkState = { away: undefined, master: '', serverId: '', dataId: '' };
  private readonly waiting = new Map<number, Waiting>();
  private waitingCharacters = 0;
  private numbers = 0;
  private handled = 0;

  constructor(send: (message: ToOwner) => void) {
    this.send = send;
    const waiting = this.waiting;
    this.commands = {
      get waiting() {
        return waiting.size;
      },
      run: (args) => this.ask(lengthOf(args), (number) => ['run', number, args]),
      script: ({ sha1 }, { keys, args }) =>
        this.ask(lengthOf(args), (number) => ['script', number, sha1, keys, args]),
    };
    this.subscriptions = {
      follow: async (stream) => {
        await this.ask(stream.length, (number) => ['follow', number, stream], { isLimited: false });
      },
      unfollow: (stream) => send(['unfollow', stream]),
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
      case 'message': {
        const [, stream, payload, loops] = message;
        this.listener?.onMessage(stream, payload, loops);
        return this.noteHandled(payload.length + MESSAGE_CHARACTERS);
      }
      default:
        message satisfies never;
    }
  }

  /** The other loop closes the connections when no loop needs them. */
  async close(): Promise<void> {
    this.listener = undefined;
    this.send(['close']);
    for (const { reject } of this.waiting.values()) {
      reject(new RedisAway('the server is stopping', true));
    }
    this.waiting.clear();
  }

  private ask(
    characters: number,
    messageOf: (number: number) => ToOwner,
    { isLimited = true } = {},
  ): Promise<Reply> {
    const isFull =
      this.waiting.size >= WAITING_MAX ||
      this.waitingCharacters + characters > WAITING_CHARACTERS_MAX;
    if (isLimited && isFull) {
      return Promise.reject(new RedisAway('too many commands wait for Redis', false));
    }
    this.numbers += 1;
    this.waitingCharacters += characters;
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.waiting.set(this.numbers, { characters, resolve, reject });
    this.send(messageOf(this.numbers));
    return promise;
  }

  private take(number: number): Waiting | undefined {
    const waiting = this.waiting.get(number);
    this.waiting.delete(number);
    this.waitingCharacters -= waiting?.characters ?? 0;
    return waiting;
  }

  private noteHandled(characters: number): void {
    this.handled += characters;
    if (this.handled < HANDLED_CHARACTERS) return;
    this.send(['handled', this.handled]);
    this.handled = 0;
  }
}

function lengthOf(args: CommandArgs): number {
  let characters = 0;
  for (const arg of args) characters += typeof arg === 'string' ? arg.length : 1;
  return characters;
}
