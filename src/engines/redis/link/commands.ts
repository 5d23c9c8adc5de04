import type { Timers } from '../../../runtime/ports.ts';
import type { RedisConnection, SentCommand } from './connection.ts';
import { type CommandArgs, encodeCommand } from './encode-command.ts';
import { RedisAway, RedisError, type Reply } from './reply.ts';
import type { RedisScript } from './script.ts';

export interface CommandsOptions {
  readonly timers: Timers;
  /** How long a command waits for Redis to come back before it fails. */
  readonly deadlineMs: number;
  /** The limits for commands without a reply, sent or not. */
  readonly waitingMax: number;
  readonly waitingCharactersMax: number;
  /** Loaded on each new connection, so that `EVALSHA` finds them. */
  readonly scripts: readonly RedisScript[];
  /** Redis has refused a script, and perhaps refuses all of them. Not called for `scriptNow`. */
  readonly onScriptRefused: () => void;
}

/** The arguments of a script. */
export interface ScriptArgs {
  readonly keys: CommandArgs;
  readonly args: CommandArgs;
}

interface Kind {
  readonly isScript: boolean;
  readonly isUrgent: boolean;
}

/**
 * The commands of this process, in order.
 *
 * No command is sent twice, except after `NOSCRIPT`, which proves that nothing has run. While Redis is away, commands
 * wait for `deadlineMs` and then fail with `RedisAway`. A command that was sent fails after `deadlineMs` without a
 * reply, so each call settles within twice that time.
 */
export class Commands {
  private readonly options: CommandsOptions;
  private connection: RedisConnection | undefined;
  private isOpen = false;
  private isClosed = false;
  private awayWhy = 'not connected yet';
  /** Not sent yet, oldest first. */
  private unsent: Command[] = [];
  /** Calls of scripts that Redis did not know, in order. They are sent before everything unsent. */
  private unknown: Command[] = [];
  /** Commands without a reply, sent or not. */
  waiting = 0;
  private waitingCharacters = 0;
  /** Why Redis has not taken a script on this connection. */
  private loadFailure: RedisError | undefined;
  private stopTimer: (() => void) | undefined;

  constructor(options: CommandsOptions) {
    this.options = options;
  }

  /** Rejects with `RedisError` if Redis refuses the command, and with `RedisAway` if it does not answer. */
  run(args: CommandArgs): Promise<Reply> {
    return this.add(encodeCommand(args), { isScript: false, isUrgent: false });
  }

  /** Runs a script. If Redis has lost its scripts, loads them and sends the call once more. */
  script(script: RedisScript, { keys, args }: ScriptArgs): Promise<Reply> {
    const text = encodeCommand(['EVALSHA', script.sha1, keys.length, ...keys, ...args]);
    return this.add(text, { isScript: true, isUrgent: false });
  }

  /** Runs a script immediately, even while others are held back. */
  scriptNow(script: RedisScript, { keys, args }: ScriptArgs): Promise<Reply> {
    const text = encodeCommand(['EVALSHA', script.sha1, keys.length, ...keys, ...args]);
    return this.add(text, { isScript: true, isUrgent: true });
  }

  /** Uses a new connection and loads the scripts. Commands still wait until `open`. */
  attach(connection: RedisConnection): void {
    this.connection = connection;
    this.loadScripts(connection);
  }

  /** Sends commands from now on. `sendUnsent` sends those that waited. */
  open(): void {
    this.isOpen = true;
  }

  sendUnsent(): void {
    if (!this.isOpen || this.unknown.length > 0) return;
    const { unsent } = this;
    this.unsent = [];
    for (const command of unsent) this.send(command);
  }

  /** Holds commands back from now on. */
  hold(why: string): void {
    this.isOpen = false;
    this.awayWhy = why;
  }

  /** The connection has closed. */
  detach(why: string): void {
    this.hold(why);
    this.connection = undefined;
    // `NOSCRIPT` says that they did not run.
    this.unsent.unshift(...this.unknown);
    this.unknown = [];
    if (this.unsent.length > 0) this.expireLater();
  }

  /** Rejects everything that waits. */
  close(): void {
    this.isClosed = true;
    this.detach('the server is stopping');
    this.stopTimer?.();
    const { unsent } = this;
    this.unsent = [];
    for (const command of unsent) command.onUnsent(this.awayWhy);
  }

  private add(text: string, kind: Kind): Promise<Reply> {
    const { waitingMax, waitingCharactersMax, timers } = this.options;
    if (this.isClosed) return Promise.reject(new RedisAway(this.awayWhy, false));
    if (this.waiting >= waitingMax || this.waitingCharacters + text.length > waitingCharactersMax) {
      return Promise.reject(new RedisAway('too many commands wait for Redis', false));
    }
    this.waiting += 1;
    this.waitingCharacters += text.length;
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const command = new Command(this, { text, kind, sinceMs: timers.now(), resolve, reject });
    if (kind.isUrgent || (this.isOpen && this.unknown.length === 0)) this.send(command);
    else this.keep(command);
    return promise;
  }

  private send(command: Command): void {
    if (this.connection === undefined) this.keep(command);
    else this.connection.send(command.text, command);
  }

  private keep(command: Command): void {
    this.unsent.push(command);
    this.expireLater();
  }

  private expireLater(): void {
    const [oldest] = this.unsent;
    if (this.stopTimer !== undefined || oldest === undefined) return;
    const { timers, deadlineMs } = this.options;
    const leftMs = oldest.sinceMs + deadlineMs - timers.now();
    this.stopTimer = timers.after(Math.max(0, leftMs), () => {
      this.stopTimer = undefined;
      this.expire(timers.now() - deadlineMs);
      this.expireLater();
    });
  }

  private expire(sinceMs: number): void {
    const kept = this.unsent.findIndex((command) => command.sinceMs > sinceMs);
    const late = this.unsent.splice(0, kept === -1 ? this.unsent.length : kept);
    for (const command of late) command.onUnsent(this.awayWhy);
  }

  /** A command has its answer, or will never get one. */
  release(command: Command): void {
    this.waiting -= 1;
    this.waitingCharacters -= command.text.length;
    this.repeatUnknown();
  }

  /**
   * Redis has lost its scripts, so every script in flight fails as well. They are sent again in order, and nothing
   * new is sent before them.
   */
  onNoScript(command: Command): void {
    this.unknown.push(command);
    this.repeatUnknown();
  }

  private repeatUnknown(): void {
    const { connection, unknown } = this;
    if (unknown.length === 0 || connection === undefined || connection.waiting > 0) return;
    this.unknown = [];
    this.loadScripts(connection);
    for (const command of unknown) connection.send(command.text, command);
    this.sendUnsent();
  }

  private loadScripts(connection: RedisConnection): void {
    this.loadFailure = undefined;
    const loading: SentCommand = {
      onReply: (reply) => {
        if (reply instanceof RedisError) this.loadFailure ??= reply;
      },
      onLost: () => undefined,
    };
    for (const { source } of this.options.scripts) {
      connection.send(encodeCommand(['SCRIPT', 'LOAD', source]), loading);
    }
  }

  /** Returns what a call of a script that was refused fails with. */
  scriptRefused(error: RedisError, { isUrgent }: Kind): RedisError {
    if (!isUrgent) this.options.onScriptRefused();
    return error.code === 'NOSCRIPT' ? (this.loadFailure ?? error) : error;
  }
}

interface CommandFields {
  readonly text: string;
  readonly kind: Kind;
  readonly sinceMs: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

class Command implements SentCommand {
  private readonly owner: Commands;
  private readonly fields: CommandFields;
  private isRepeated = false;

  constructor(owner: Commands, fields: CommandFields) {
    this.owner = owner;
    this.fields = fields;
  }

  get text(): string {
    return this.fields.text;
  }

  get sinceMs(): number {
    return this.fields.sinceMs;
  }

  onReply(reply: Reply): void {
    const { kind, resolve, reject } = this.fields;
    if (!(reply instanceof RedisError)) resolve(reply);
    else if (!kind.isScript) reject(reply);
    else if (reply.code === 'NOSCRIPT' && !this.isRepeated) return this.repeat();
    else reject(this.owner.scriptRefused(reply, kind));
    this.owner.release(this);
  }

  onLost(why: string): void {
    this.fields.reject(new RedisAway(why, true));
    this.owner.release(this);
  }

  onUnsent(why: string): void {
    this.fields.reject(new RedisAway(why, false));
    this.owner.release(this);
  }

  private repeat(): void {
    this.isRepeated = true;
    this.owner.onNoScript(this);
  }
}
