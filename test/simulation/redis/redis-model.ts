import { createHash } from 'node:crypto';
import type { Random } from '../../../testing/random.ts';
import { HASH_COMMANDS } from './commands/hashes.ts';
import { KEY_COMMANDS } from './commands/keys.ts';
import { LIST_COMMANDS } from './commands/lists.ts';
import { SORTED_SET_COMMANDS } from './commands/sorted-sets.ts';
import { STRING_COMMANDS } from './commands/strings.ts';
import { type Command, integerOf, Keyspace } from './keyspace.ts';
import { Interpreter } from './lua/interpreter.ts';
import { encodeReply, Failure, OK, type Reply, Status } from './reply.ts';
import { RequestReader } from './request-reader.ts';

const COMMANDS = new Map<string, Command>(
  Object.entries({
    ...KEY_COMMANDS,
    ...STRING_COMMANDS,
    ...HASH_COMMANDS,
    ...LIST_COMMANDS,
    ...SORTED_SET_COMMANDS,
  }),
);

const DATABASES = 16;
/** What a connection with subscriptions may send. */
const WHILE_SUBSCRIBED = new Set(['SUBSCRIBE', 'UNSUBSCRIBE', 'PING']);

export interface RedisModelOptions {
  /** Microseconds since 1970. */
  readonly nowUs: () => number;
  /** Chooses what Redis chooses at random. */
  readonly random: Random;
  readonly password?: string;
  /** Gets each command of a connection with its reply. */
  readonly trace?: ((words: readonly string[], reply: Reply | undefined) => void) | undefined;
}

/** The other end of a connection. */
export interface RedisPeer {
  onBytes(bytes: Buffer): void;
  /** Redis has ended the connection. */
  onEnd(): void;
}

/**
 * A Redis 7 server, as far as the link and the scripts of the engine use one: commands in TypeScript, scripts by an
 * interpreter of Lua. It runs each command as it arrives, and never waits. It speaks RESP2.
 */
export class RedisModel {
  private readonly options: RedisModelOptions;
  private databases: readonly Keyspace[] = [];
  private readonly connections = new Set<RedisConnection>();
  private scripts: Interpreter;
  private runId = '';
  /** The database of the connection that runs a script. */
  private keys: Keyspace;

  constructor(options: RedisModelOptions) {
    this.options = options;
    this.keys = new Keyspace(options);
    this.scripts = this.begin();
  }

  /** Accepts a connection. */
  connect(peer: RedisPeer): RedisConnection {
    const connection = new RedisConnection(this, peer, this.options.password === undefined);
    this.connections.add(connection);
    return connection;
  }

  /** Loses all data, as `FLUSHALL` does. */
  empty(): void {
    for (const keys of this.databases) keys.clear();
  }

  /** Forgets all scripts, as `SCRIPT FLUSH` does. */
  forgetScripts(): void {
    this.scripts = new Interpreter((words) => this.runCommand(this.keys, words));
  }

  /** Ends all connections, and begins anew as another process without data. */
  restart(): void {
    for (const connection of [...this.connections]) connection.end();
    this.scripts = this.begin();
  }

  /** When keys end. Milliseconds. */
  get ends(): readonly number[] {
    return this.databases.flatMap(({ ends }) => ends);
  }

  /** A connection has ended. */
  forget(connection: RedisConnection): void {
    this.connections.delete(connection);
  }

  keysOf(database: number): Keyspace {
    const keys = this.databases[database];
    if (keys === undefined) throw new Failure('ERR DB index is out of range');
    return keys;
  }

  /** Runs a command of a connection. */
  run(connection: RedisConnection, words: readonly string[]): Reply | undefined {
    let reply: Reply | undefined;
    try {
      reply = this.answer(connection, words);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      reply = error;
    }
    this.options.trace?.(words, reply);
    return reply;
  }

  /** Sends what was written. The order of the connections is that of their beginnings. */
  flush(): void {
    for (const connection of [...this.connections]) connection.flush();
  }

  private begin(): Interpreter {
    const { random } = this.options;
    this.databases = Array.from({ length: DATABASES }, () => new Keyspace(this.options));
    this.runId = Array.from({ length: 40 }, () => random.between(0, 15).toString(16)).join('');
    return new Interpreter((words) => this.runCommand(this.keys, words));
  }

  private answer(connection: RedisConnection, [name = '', ...words]: readonly string[]) {
    const command = name.toUpperCase();
    if (connection.subscribed.size > 0 && !WHILE_SUBSCRIBED.has(command)) {
      throw new Failure(
        `ERR Can't execute '${name.toLowerCase()}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
      );
    }
    if (command === 'AUTH') return this.logIn(connection, words);
    if (!connection.isLoggedIn) throw new Failure('NOAUTH Authentication required.');
    switch (command) {
      case 'SELECT':
        connection.keys = this.keysOf(integerOf(words[0], 'ERR invalid DB index'));
        return OK;
      case 'PING':
        return new Status('PONG');
      case 'INFO':
        return this.info();
      case 'SUBSCRIBE':
        for (const channel of words) connection.subscribe(channel);
        return undefined;
      case 'UNSUBSCRIBE':
        for (const channel of words) connection.unsubscribe(channel);
        return undefined;
      case 'SCRIPT':
        return this.script(words);
      case 'EVAL':
        return this.evaluate(connection, [this.load(words[0] ?? ''), ...words.slice(1)]);
      case 'EVALSHA':
        return this.evaluate(connection, words);
      case 'FLUSHALL':
        this.empty();
        return OK;
      default:
        return this.runCommand(connection.keys, [name, ...words]);
    }
  }

  /** Runs a command that scripts can call as well. Returns a failure. */
  private runCommand(keys: Keyspace, all: readonly string[]): Reply {
    const [name = ''] = all;
    // Scripts write them so.
    const command = COMMANDS.get(name) ?? COMMANDS.get(name.toUpperCase());
    const words = all.slice(1);
    try {
      if (name === 'PUBLISH') return this.publish(words[0] ?? '', words[1] ?? '');
      if (command === undefined) throw new Error(`the model has no command ${name}`);
      const { arity, run } = command;
      const count = all.length;
      if (arity < 0 ? count < -arity : count !== arity) {
        throw new Failure(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
      }
      return run(keys, words);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return error;
    }
  }

  private publish(channel: string, payload: string): number {
    let receivers = 0;
    for (const connection of this.connections) {
      if (!connection.subscribed.has(channel)) continue;
      receivers += 1;
      connection.write(['message', channel, payload]);
    }
    return receivers;
  }

  private logIn(connection: RedisConnection, words: readonly string[]): Reply {
    const { password } = this.options;
    if (password === undefined) {
      throw new Failure(
        'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
      );
    }
    if (words.at(-1) !== password) {
      throw new Failure('WRONGPASS invalid username-password pair or user is disabled.');
    }
    connection.isLoggedIn = true;
    return OK;
  }

  private info(): string {
    const lines = [
      'redis_version:7.0.15',
      'redis_mode:standalone',
      `run_id:${this.runId}`,
      'loading:0',
      'role:master',
      'maxmemory:0',
      'maxmemory_policy:noeviction',
    ];
    return lines.map((line) => `${line}\r\n`).join('');
  }

  private script([name = '', ...words]: readonly string[]): Reply {
    switch (name.toUpperCase()) {
      case 'LOAD':
        return this.load(words[0] ?? '');
      case 'FLUSH':
        this.forgetScripts();
        return OK;
      default:
        throw new Error(`the model has no command SCRIPT ${name}`);
    }
  }

  private load(source: string): string {
    const sha1 = createHash('sha1').update(Buffer.from(source, 'latin1')).digest('hex');
    this.scripts.load(sha1, source);
    return sha1;
  }

  private evaluate(
    connection: RedisConnection,
    [sha1 = '', count, ...words]: readonly string[],
  ): Reply {
    const keys = integerOf(count);
    if (keys > words.length) {
      throw new Failure("ERR Number of keys can't be greater than number of args");
    }
    if (keys < 0) throw new Failure("ERR Number of keys can't be negative");
    if (!this.scripts.has(sha1)) {
      throw new Failure('NOSCRIPT No matching script. Please use EVAL.');
    }
    this.keys = connection.keys;
    return this.scripts.run({ sha1, keys: words.slice(0, keys), args: words.slice(keys) });
  }
}

/** A connection to the model. */
export class RedisConnection {
  readonly subscribed = new Set<string>();
  isLoggedIn: boolean;
  keys: Keyspace;
  private readonly model: RedisModel;
  private readonly peer: RedisPeer;
  private readonly reader = new RequestReader();
  private unsent = '';
  private isEnded = false;
  private losesReply = false;

  constructor(model: RedisModel, peer: RedisPeer, isLoggedIn: boolean) {
    this.model = model;
    this.peer = peer;
    this.isLoggedIn = isLoggedIn;
    this.keys = model.keysOf(0);
  }

  /** Bytes of the peer have arrived. */
  receive(bytes: Buffer): void {
    if (this.isEnded) return;
    for (const words of this.reader.read(bytes)) {
      const reply = this.model.run(this, words);
      if (this.isEnded) return;
      if (reply !== undefined && this.losesReply) {
        this.end();
        break;
      }
      if (reply !== undefined) this.write(reply);
    }
    this.model.flush();
  }

  /** The peer has ended it. */
  close(): void {
    this.isEnded = true;
    this.model.forget(this);
  }

  /** Ends it. What was not sent is lost. */
  end(): void {
    if (this.isEnded) return;
    this.close();
    this.peer.onEnd();
  }

  /** Runs the next command that has a reply, and ends in place of the reply. */
  loseReply(): void {
    this.losesReply = true;
  }

  write(reply: Reply): void {
    this.unsent += encodeReply(reply);
  }

  flush(): void {
    if (this.unsent === '' || this.isEnded) return;
    const bytes = Buffer.from(this.unsent, 'latin1');
    this.unsent = '';
    this.peer.onBytes(bytes);
  }

  subscribe(channel: string): void {
    this.subscribed.add(channel);
    this.write(['subscribe', channel, this.subscribed.size]);
  }

  unsubscribe(channel: string): void {
    this.subscribed.delete(channel);
    this.write(['unsubscribe', channel, this.subscribed.size]);
  }
}
