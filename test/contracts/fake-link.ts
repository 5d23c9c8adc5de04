import type { RedisEngineServer } from '../../src/engines/redis/engine-server.ts';
import type { RedisListener } from '../../src/engines/redis/link/redis-server.ts';
import { RedisAway, type Reply } from '../../src/engines/redis/link/reply.ts';
import type { RedisScript } from '../../src/engines/redis/link/script.ts';
import type { RedisLink } from '../../src/engines/redis/redis-link.ts';
import { STATE, STATE_AGAIN } from '../../src/engines/redis/scripts/statements.ts';
import { TICK } from '../../src/engines/redis/scripts/upkeep.ts';

/** A Redis of the test: it holds nothing, and answers each script as if all were well. */
export class FakeLink implements RedisLink, RedisEngineServer {
  readonly name: string;
  readonly place = { database: 0 };
  away: RedisLink['away'];
  serverId = 'fake';

  get master(): string {
    return this.name;
  }

  get dataId(): string {
    return this.serverId;
  }

  /** What scripts answer in place of `ok`. */
  readonly answers = new Map<RedisScript, readonly Reply[]>();
  private back = Promise.withResolvers<void>();
  private listener: RedisListener | undefined;
  /** What the server is marked with. */
  layout: Reply = null;

  constructor(name = 'fake') {
    this.name = name;
  }

  readonly subscriptions = {
    follow: () => this.back.promise,
    unfollow: () => undefined,
  };
  readonly commands = {
    waiting: 0,
    run: async ([name, , value]: readonly (string | number)[]) => {
      if (name === 'SET') this.layout ??= String(value);
      return this.layout;
    },
    script: async (script: RedisScript) => {
      if (this.away !== undefined) throw new RedisAway(this.away.why, false);
      return [...(this.answers.get(script) ?? answerOf(script))];
    },
  };

  async open(listener: RedisListener): Promise<RedisLink> {
    this.listener = listener;
    this.back.resolve();
    return this;
  }

  receive(stream: string, payload: string): void {
    this.listener?.onMessage(stream, payload);
  }

  goAway(sinceMs = 0): void {
    const why = 'it is away';
    const away = { sinceMs, why, isRefused: false, server: this.name };
    this.away = away;
    this.back = Promise.withResolvers();
    this.listener?.onAway(away);
    this.listener?.onGap(why);
  }

  comeBack(): void {
    this.away = undefined;
    this.back.resolve();
    this.listener?.onBack();
  }

  async close(): Promise<void> {
    this.listener = undefined;
  }
}

/** Of as many channels as one call may state again: those that it does not state are not looked at. */
const STATED_AGAIN: Reply[] = Array.from({ length: 128 }, () => ['0', [], [], []]);

function answerOf(script: RedisScript): readonly Reply[] {
  if (script === TICK) return ['ok', '1', -1, [], 0];
  if (script === STATE_AGAIN) return ['ok', '1', null, -1, [], STATED_AGAIN];
  if (script === STATE) return ['ok', '1', '0', -1, [], [], []];
  return ['ok', '1', '0', -1, []];
}
