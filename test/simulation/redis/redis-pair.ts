import { connect, type Socket } from 'node:net';
import { encodeCommand } from '../../../src/engines/redis/link/encode-command.ts';
import type { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { MEMBERS, MEMBERS_PAGE, ROSTER } from '../../../src/engines/redis/scripts/queries.ts';
import { STATE, STATE_AGAIN } from '../../../src/engines/redis/scripts/statements.ts';
import { Random } from '../../../testing/random.ts';
import { drawing, keysWithDraws, withDraws } from './drawn-by-redis.ts';
import type { RandomScriptCall } from './random-script-calls.ts';
import { type RedisConnection, RedisModel } from './redis-model.ts';
import { type ReadReply, RespReplies } from './resp-replies.ts';

/** What both have answered. They should be equal. */
export interface Answers {
  readonly real: ReadReply;
  readonly modelled: ReadReply;
}

/** By script, where its reply has members: pairs in no order. */
const MEMBERS_AT = new Map<RedisScript, readonly (number | 'each')[]>([
  [ROSTER, [2]],
  [MEMBERS, [1]],
  [MEMBERS_PAGE, [1]],
  [STATE, [6]],
  [STATE_AGAIN, [5, 'each', 1]],
]);

/** A key may have ended at the one and not at the other, this long before and after its end. Milliseconds. */
const UNCLEAR_MS = 5;
/** No call takes so long, unless the machine is busy. Milliseconds. */
const CALL_MS = 10;

/** A real Redis and the model, which get the same calls. */
export class RedisPair {
  private readonly real: RealClient;
  private readonly realSubscriber: RealClient;
  private readonly model: RedisModel;
  private readonly modelled: ModelClient;
  private readonly modelledSubscriber: ModelClient;
  private readonly hashes = new Map<RedisScript, readonly [real: string, modelled: string]>();
  private nowUs = 0;
  /** Until then, no key ends. */
  private clearUntilMs = 0;
  private marks = 0;

  constructor(port: number, seed: number) {
    this.real = new RealClient(port);
    this.realSubscriber = new RealClient(port);
    this.model = new RedisModel({ nowUs: () => this.nowUs, random: new Random(seed) });
    this.modelled = new ModelClient(this.model);
    this.modelledSubscriber = new ModelClient(this.model);
  }

  /** Loads scripts, and subscribes to channels. */
  async start(scripts: readonly RedisScript[], channels: readonly string[]): Promise<void> {
    for (const script of scripts) {
      const [real = null] = await this.real.ask([['SCRIPT', 'LOAD', drawing(script.source)]]);
      const modelled = this.modelled.ask(['SCRIPT', 'LOAD', withDraws(script.source)]);
      this.hashes.set(script, [textOf(real), textOf(modelled)]);
    }
    await this.realSubscriber.ask([['SUBSCRIBE', 'marks', ...channels]]);
    this.modelledSubscriber.ask(['SUBSCRIBE', 'marks', ...channels]);
  }

  /** Begins without data. */
  async empty(): Promise<void> {
    await this.real.ask([['FLUSHALL']]);
    this.model.empty();
  }

  /** Calls a command. `undefined`: a key has ended meanwhile, so the answers may differ. */
  async command(words: readonly string[]): Promise<Answers | undefined> {
    await this.untilClear();
    const [before = null, real = null, after = null] = await this.real.ask([TIME, words, TIME]);
    this.nowUs = microseconds(before);
    const modelled = this.modelled.ask(words);
    if (!this.isClear(before, after)) return undefined;
    if (isByChance(words)) return { real: sizeOf(real), modelled: sizeOf(modelled) };
    if (words[0] === 'PTTL' && isNear(real, modelled)) return { real, modelled: real };
    return { real, modelled };
  }

  /** Calls a script. */
  async script({ script, keys, args }: RandomScriptCall): Promise<Answers | undefined> {
    await this.untilClear();
    const [realSha, modelledSha] = this.hashes.get(script) ?? ['', ''];
    const call = ['EVALSHA', realSha, String(keys.length), ...keys, ...args];
    const [before = null, answer = null, after = null] = await this.real.ask([TIME, call, TIME]);
    const [real, drawn] = partsOf(answer);
    const given = keysWithDraws(keys, drawn);
    this.nowUs = microseconds(before);
    const [modelled, own] = partsOf(
      this.modelled.ask(['EVALSHA', modelledSha, String(given.length), ...given, ...args]),
    );
    if (!this.isClear(before, after)) return undefined;
    const at = MEMBERS_AT.get(script);
    return {
      real: [sorted(real, at), sizesOf(drawn)],
      modelled: [sorted(modelled, at), sizesOf(own)],
    };
  }

  /** Everything that both hold, and all that they have published since the last time. */
  async state(): Promise<Answers> {
    const [before = null, names = null] = await this.real.ask([TIME, ['KEYS', '*']]);
    const realKeys = Array.isArray(names) ? names.map(textOf) : [];
    const kinds = await this.real.ask(realKeys.map((key) => ['TYPE', key]));
    const reads = realKeys.map((key, at) => readOf(key, kinds[at] ?? null));
    const contents = await this.real.ask(reads);
    const [after = null] = await this.real.ask([TIME]);
    this.nowUs = microseconds(before);
    const modelledKeys = this.model.keysOf(0).names;
    const modelled = reads.map((words) => this.modelled.ask(words));
    const ended = this.endedBetween(modelledKeys, [before, after]);
    const isCompared = (name: string) => !ended.has(name);
    const held = (replies: readonly ReadReply[]) =>
      realKeys
        .map((key, at) => [
          key,
          reads[at]?.[0] === 'HGETALL' ? pairs(replies[at] ?? null) : (replies[at] ?? null),
        ])
        .filter(([key]) => isCompared(String(key)))
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
    this.marks += 1;
    const mark = ['PUBLISH', 'marks', String(this.marks)];
    await this.real.ask([mark]);
    this.modelled.ask(mark);
    const realMessages = await this.realSubscriber.messagesUntil(`$${this.marks}`);
    const modelledMessages = await this.modelledSubscriber.messagesUntil(`$${this.marks}`);
    const keysOf = (all: readonly string[]) => all.filter(isCompared).toSorted();
    return {
      real: [keysOf(realKeys), held(contents), realMessages],
      modelled: [keysOf(modelledKeys), held(modelled), modelledMessages],
    };
  }

  end(): void {
    this.real.end();
    this.realSubscriber.end();
  }

  /** Waits until no key ends for a while. */
  private async untilClear(): Promise<void> {
    for (;;) {
      const [now = null] = await this.real.ask([TIME]);
      const nowMs = microseconds(now) / 1000;
      this.clearUntilMs = nowMs + CALL_MS;
      const isNear = (ms: number) => ms > nowMs - UNCLEAR_MS && ms < this.clearUntilMs + UNCLEAR_MS;
      if (!this.model.ends.some(isNear)) return;
    }
  }

  /** Keys that may have ended while everything was read. */
  private endedBetween(
    names: readonly string[],
    [before, after]: readonly [ReadReply, ReadReply],
  ): ReadonlySet<string> {
    const fromMs = microseconds(before) / 1000 - UNCLEAR_MS;
    const toMs = microseconds(after) / 1000 + UNCLEAR_MS;
    const keys = this.model.keysOf(0);
    return new Set(
      names.filter((name) => {
        const endsAtMs = keys.endsAtMs(name);
        return endsAtMs !== undefined && endsAtMs > fromMs && endsAtMs < toMs;
      }),
    );
  }

  private isClear(before: ReadReply, after: ReadReply): boolean {
    const [fromMs, toMs] = [microseconds(before) / 1000, microseconds(after) / 1000];
    return toMs < this.clearUntilMs && toMs - fromMs < UNCLEAR_MS;
  }
}

const TIME = ['TIME'];

class RealClient {
  private messages: ReadReply[] = [];
  private mark = '';
  private onMark: ((messages: readonly ReadReply[]) => void) | undefined;
  private readonly waiting: ((reply: ReadReply) => void)[] = [];
  private readonly socket: Socket;

  constructor(port: number) {
    const replies = new RespReplies();
    this.socket = connect({ host: '127.0.0.1', port });
    this.socket.setNoDelay(true);
    this.socket.on('data', (bytes) => {
      for (const reply of replies.read(Buffer.from(bytes))) this.take(reply);
    });
  }

  ask(commands: readonly (readonly string[])[]): Promise<readonly ReadReply[]> {
    const replies = commands.map(
      () => new Promise<ReadReply>((resolve) => this.waiting.push(resolve)),
    );
    this.socket.write(commands.map(encodeCommand).join(''));
    return Promise.all(replies);
  }

  /** All messages before this one. */
  messagesUntil(mark: string): Promise<readonly ReadReply[]> {
    this.mark = mark;
    return new Promise((resolve) => {
      this.onMark = resolve;
      this.lookForMark();
    });
  }

  end(): void {
    this.socket.destroy();
  }

  private take(reply: ReadReply): void {
    const waiting = this.waiting.shift();
    if (waiting !== undefined) return waiting(reply);
    // The other confirmations of a subscription.
    if (!Array.isArray(reply) || reply[0] !== '$message') return;
    this.messages.push(reply);
    this.lookForMark();
  }

  private lookForMark(): void {
    const at = this.messages.findIndex((message) => isMark(message, this.mark));
    if (at === -1 || this.onMark === undefined) return;
    this.onMark(this.messages.splice(0, at + 1));
    this.onMark = undefined;
  }
}

class ModelClient {
  private replies: ReadReply[] = [];
  private readonly connection: RedisConnection;

  constructor(model: RedisModel) {
    const replies = new RespReplies();
    this.connection = model.connect({
      onBytes: (bytes) => this.replies.push(...replies.read(bytes)),
      onEnd: () => undefined,
    });
  }

  ask(command: readonly string[]): ReadReply {
    this.connection.receive(Buffer.from(encodeCommand(command)));
    return this.replies.splice(0)[0] ?? null;
  }

  messagesUntil(mark: string): readonly ReadReply[] {
    const at = this.replies.findIndex((message) => isMark(message, mark));
    return this.replies.splice(0, at + 1);
  }
}

function isMark(message: ReadReply, mark: string): boolean {
  return Array.isArray(message) && message[1] === '$marks' && message[2] === mark;
}

function textOf(reply: ReadReply): string {
  return typeof reply === 'string' ? reply.slice(1) : '';
}

function microseconds(time: ReadReply): number {
  const [seconds = null, rest = null] = Array.isArray(time) ? time : [];
  return Number(textOf(seconds)) * 1_000_000 + Number(textOf(rest));
}

/** The reply of a script, and what was drawn. */
function partsOf(answer: ReadReply): readonly [ReadReply, ReadReply] {
  // What was drawn before an error is not known, so the calls must be possible ones.
  if (!Array.isArray(answer)) throw new Error(`a script has failed: ${answer}`);
  return [answer[0] ?? null, answer[1] ?? null];
}

function isByChance([name = '']: readonly string[]): boolean {
  return name === 'HRANDFIELD' || name === 'ZRANDMEMBER';
}

function isNear(a: ReadReply, b: ReadReply): boolean {
  return Math.abs(Number(a) - Number(b)) <= 2 * UNCLEAR_MS && Number(a) > 0 && Number(b) > 0;
}

/** What is the same of all that chance may choose. */
function sizeOf(reply: ReadReply): ReadReply {
  if (Array.isArray(reply)) return `${reply.length} of a list`;
  if (typeof reply === 'string' && reply.startsWith('$')) return 'a text';
  return typeof reply === 'number' ? 'a number' : reply;
}

function sizesOf(drawn: ReadReply): ReadReply {
  return Array.isArray(drawn) ? drawn.map(sizeOf) : drawn;
}

/** Sorts what is at a place, which is empty for the reply itself. */
function sorted(reply: ReadReply, place: readonly (number | 'each')[] | undefined): ReadReply {
  if (place === undefined || !Array.isArray(reply)) return reply;
  const [at, ...inner] = place;
  if (at === undefined) return pairs(reply);
  return reply.map((part, index) => (at === 'each' || index === at ? sorted(part, inner) : part));
}

/** Pairs in the order of their first halves. */
function pairs(reply: ReadReply): ReadReply {
  if (!Array.isArray(reply)) return reply;
  const all = reply.flatMap((name, at) => (at % 2 === 0 ? [[name, reply[at + 1] ?? null]] : []));
  return all.toSorted(([a = null], [b = null]) => (textOf(a) < textOf(b) ? -1 : 1));
}

function readOf(key: string, kind: ReadReply): readonly string[] {
  switch (kind) {
    case '+string':
      return ['GET', key];
    case '+hash':
      return ['HGETALL', key];
    case '+list':
      return ['LRANGE', key, '0', '-1'];
    default:
      return ['ZRANGE', key, '0', '-1', 'WITHSCORES'];
  }
}
