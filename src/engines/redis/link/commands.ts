import type { Timers } from '../../../runtime/ports.ts';
import { type RefusalKind, refusalKind } from './cluster/refusal.ts';
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
  /** For commands to a slot of a cluster. */
  readonly slot?: SlotCommands | undefined;
}

/** What differs for commands to a slot of a cluster. */
export interface SlotCommands {
  /** A command was refused, and has not run. */
  onRefused(kind: RefusalKind): void;
  /** The slot is at another master, as this refusal says. The connection must be replaced. */
  onMoved(refusal: string): void;
  /** The slot has refused commands for `deadlineMs`. They wait until `open`. */
  onStuck(refusal: string): void;
  /** Whether the master does not have the scripts yet: several slots may share one. Those that it forgets come with their source. */
  mustLoad(): boolean;
  /** The time of Redis, for scripts that it refuses to tell. Microseconds since 1970; `undefined`: it tells them. */
  time(): number | undefined;
}

/** The arguments of a script. */
export interface ScriptArgs {
  readonly keys: CommandArgs;
  readonly args: CommandArgs;
}

interface Kind {
  /** The script that the command runs. */
  readonly script: RedisScript | undefined;
  readonly isUrgent: boolean;
}

/** The pause before a command that a slot has refused is sent again. */
const AGAIN_MS = 100;

/**
 * The commands of this process, in order.
 *
 * No command is sent twice, except after a refusal that proves that nothing has run: `NOSCRIPT`, and in a cluster those
 * of `refusalKind`. While Redis is away, commands wait for `deadlineMs` and then fail with `RedisAway`. A command that was
 * sent fails after `deadlineMs` without a reply, so each call settles within twice that time.
 */
export class Commands {
  private readonly options: CommandsOptions;
  private connection: RedisConnection | undefined;
  private isOpen = false;
  private isClosed = false;
  private awayWhy = 'not connected yet';
  /** Not sent yet, or refused and to be sent again, oldest first. */
  private unsent: Command[] = [];
  /** Commands that were refused and have not run, in order. They are sent before everything unsent. */
  private refused: Command[] = [];
  /** The refusal of the slot, until all replies have arrived. */
  private refusal: Refusal | undefined;
  /** Why the connection is replaced once nothing is in flight. */
  private retiringWhy: string | undefined;
  /** Since when the slot refuses commands. */
  private stuckSinceMs: number | undefined;
  /** The one command that is sent to find out whether the slot still refuses. */
  private scout: Command | undefined;
  private stopPause: (() => void) | undefined;
  /** Commands without a reply, sent or not. */
  waiting = 0;
  private waitingCharacters = 0;
  /** When a command was answered last, and not refused. By the clock of `timers`. */
  answeredAtMs = Number.NEGATIVE_INFINITY;
  /** Why Redis has not taken a script on this connection. */
  private loadFailure: RedisError | undefined;
  private stopTimer: (() => void) | undefined;

  constructor(options: CommandsOptions) {
    this.options = options;
  }

  /** Rejects with `RedisError` if Redis refuses the command, and with `RedisAway` if it does not answer. */
  run(args: CommandArgs): Promise<Reply> {
    return this.add(encodeCommand(args), { script: undefined, isUrgent: false });
  }

  /** Runs a script. If Redis does not know it, sends the call once more. */
  script(script: RedisScript, { keys, args }: ScriptArgs): Promise<Reply> {
    return this.addScript(script, { keys, args }, false);
  }

  /** Runs a script immediately, even while others are held back. */
  scriptNow(script: RedisScript, { keys, args }: ScriptArgs): Promise<Reply> {
    return this.addScript(script, { keys, args }, true);
  }

  /** Uses a new connection and loads the scripts. Commands still wait until `open`. */
  attach(connection: RedisConnection): void {
    this.connection = connection;
    if (this.options.slot?.mustLoad() !== false) this.loadScripts(connection);
  }

  /** Sends commands from now on. `sendUnsent` sends those that waited. */
  open(): void {
    this.isOpen = true;
    this.endPause();
  }

  sendUnsent(): void {
    if (!this.isSending) return;
    const { unsent } = this;
    this.unsent = [];
    for (const command of unsent) this.send(command);
  }

  /** Holds commands back from now on. */
  hold(why: string): void {
    this.isOpen = false;
    this.awayWhy = why;
  }

  /** The connection must be replaced. What is in flight is answered first: a command that is lost may have run. */
  retire(why: string): void {
    this.retiringWhy ??= why;
    this.sendRefused();
  }

  /** The connection has closed. */
  detach(why: string): void {
    this.hold(why);
    this.connection = undefined;
    this.retiringWhy = undefined;
    this.endPause();
    this.putBack();
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

  private addScript(script: RedisScript, { keys, args }: ScriptArgs, isUrgent: boolean) {
    const time = this.options.slot?.time();
    const one = this.dialectOf(script, time);
    const all = time === undefined ? args : [...args, time];
    const text = encodeCommand(['EVALSHA', one.sha1, keys.length, ...keys, ...all]);
    return this.add(text, { script: one, isUrgent });
  }

  private dialectOf(script: RedisScript, time: number | undefined): RedisScript {
    if (this.options.slot === undefined) return script;
    return time === undefined ? script.sharded : script.sharded.timed;
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
    if (kind.isUrgent || this.isSending) this.send(command);
    else this.keep(command);
    return promise;
  }

  /** Whether nothing must be sent before a new command. */
  private get isSending(): boolean {
    if (this.retiringWhy !== undefined || this.stuckSinceMs !== undefined) return false;
    return this.isOpen && this.refused.length === 0;
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
    this.waitingCharacters -= command.size;
    if (command === this.scout) {
      this.endPause();
      this.sendUnsent();
    }
    this.sendRefused();
  }

  answered(): void {
    this.answeredAtMs = this.connection?.heardAtMs ?? this.answeredAtMs;
  }

  /**
   * Redis has lost its scripts, or does not serve the slot now, so every command in flight fails as well. They are sent
   * again in order, and nothing new is sent before them.
   */
  onRefused(command: Command, refusal: Refusal | undefined): void {
    this.refused.push(command);
    if (refusal !== undefined) {
      this.options.slot?.onRefused(refusal.kind);
      if (this.refusal?.kind !== 'moved') this.refusal = refusal;
    }
    if (command === this.scout) this.scout = undefined;
    this.sendRefused();
  }

  /** Returns why a slot has refused a command that has not run; `undefined` if that is not so. */
  refusalOf(error: RedisError): Refusal | undefined {
    const kind = this.options.slot === undefined ? undefined : refusalKind(error);
    return kind && { kind, message: error.message };
  }

  private sendRefused(): void {
    const { connection, refused, refusal, retiringWhy } = this;
    if (connection === undefined || connection.waiting > 0) return;
    if (retiringWhy !== undefined) return this.options.slot?.onMoved(retiringWhy);
    if (refused.length === 0) return;
    if (refusal !== undefined) return this.waitFor(refusal);
    this.refused = [];
    if (this.options.slot === undefined) this.loadScripts(connection);
    for (const command of refused) connection.send(command.text, command);
    this.sendUnsent();
  }

  private waitFor({ kind, message }: Refusal): void {
    const { timers, slot } = this.options;
    this.refusal = undefined;
    this.stuckSinceMs ??= timers.now();
    this.awayWhy = message;
    this.putBack();
    if (kind === 'moved') return slot?.onMoved(message);
    this.stopPause?.();
    this.stopPause = timers.after(AGAIN_MS, () => this.sendScout());
  }

  private sendScout(): void {
    const { timers, deadlineMs, slot } = this.options;
    this.stopPause = undefined;
    // While Redis is away, a probe finds out.
    if (!this.isOpen) return;
    const stuckMs = timers.now() - (this.stuckSinceMs ?? timers.now());
    if (stuckMs >= deadlineMs) return slot?.onStuck(this.awayWhy);
    const command = this.unsent.shift();
    if (command === undefined) return this.endPause();
    this.scout = command;
    this.send(command);
  }

  private endPause(): void {
    this.stopPause?.();
    this.stopPause = undefined;
    this.scout = undefined;
    this.stuckSinceMs = undefined;
  }

  /** Puts refused commands before everything unsent. */
  private putBack(): void {
    this.unsent.unshift(...this.refused);
    this.refused = [];
    this.refusal = undefined;
    // They may have waited longer than those that the timer was set for.
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.expireLater();
  }

  private loadScripts(connection: RedisConnection): void {
    this.loadFailure = undefined;
    const loading: SentCommand = {
      onReply: (reply) => {
        if (reply instanceof RedisError) this.loadFailure ??= reply;
      },
      onLost: () => undefined,
    };
    const { scripts, slot } = this.options;
    for (const script of scripts) {
      const { source } = this.dialectOf(script, slot?.time());
      connection.send(encodeCommand(['SCRIPT', 'LOAD', source]), loading);
    }
  }

  /** Whether unknown scripts are sent with their source: in a cluster, each call may come to another machine. */
  get sendsSource(): boolean {
    return this.options.slot !== undefined;
  }

  /** Returns what a call of a script that was refused fails with. */
  scriptRefused(error: RedisError, { isUrgent }: Kind): RedisError {
    if (!isUrgent) this.options.onScriptRefused();
    return error.code === 'NOSCRIPT' ? (this.loadFailure ?? error) : error;
  }
}

interface Refusal {
  readonly kind: RefusalKind;
  readonly message: string;
}

interface CommandFields {
  readonly text: string;
  readonly kind: Kind;
  readonly sinceMs: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

class Command implements SentCommand {
  text: string;
  /** Characters that count as waiting. */
  readonly size: number;
  private readonly owner: Commands;
  private readonly fields: CommandFields;
  private isRepeated = false;

  constructor(owner: Commands, fields: CommandFields) {
    this.owner = owner;
    this.fields = fields;
    this.text = fields.text;
    this.size = fields.text.length;
  }

  get sinceMs(): number {
    return this.fields.sinceMs;
  }

  onReply(reply: Reply): void {
    const { kind, resolve, reject } = this.fields;
    if (!(reply instanceof RedisError)) {
      this.owner.answered();
      resolve(reply);
    } else {
      const refusal = this.owner.refusalOf(reply);
      if (refusal !== undefined && !kind.isUrgent) return this.owner.onRefused(this, refusal);
      if (kind.script === undefined) reject(reply);
      else if (reply.code === 'NOSCRIPT' && !this.isRepeated) return this.repeat(kind.script);
      else reject(this.owner.scriptRefused(reply, kind));
    }
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

  private repeat({ sha1, source }: RedisScript): void {
    this.isRepeated = true;
    if (this.owner.sendsSource) {
      const [byHash, bySource] = [
        ['EVALSHA', sha1],
        ['EVAL', source],
      ].map((words) => words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join(''));
      this.text = this.text.replace(byHash ?? '', () => bySource ?? '');
    }
    this.owner.onRefused(this, undefined);
  }
}
