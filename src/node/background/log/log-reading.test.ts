import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { LogFilter } from '../../../asking/facts/log.ts';
import { LineRing } from '../../../observability/line-ring.ts';
import { createLog } from '../../../observability/log.ts';
import { LogReading } from './log-reading.ts';

/** A server that has logged some lines. */
function stage() {
  const ring = new LineRing(0);
  const logged = { atMs: 17 };
  const time = new FakeTime({ nowMs: 0 });
  const log = createLog({
    level: 'debug',
    format: 'text',
    write: () => undefined,
    keep: (line) => ring.add(line),
    now: () => logged.atMs,
  });
  const reading = new LogReading({ node: 'a:1', ring, timers: time, log });
  const everything: LogFilter = { level: 'debug', showsAddresses: true };
  const session = new AbortController();
  const follow = (
    filter: Partial<LogFilter> = {},
    { after, user = null }: { after?: number; user?: string | null } = {},
  ) => {
    const how = user === null ? 'password' : 'proxy';
    const role = user === null ? 'admin' : 'support';
    const stream = reading.follow(
      { ...everything, ...filter, after },
      {
        caller: { how, user, groups: [] },
        rights: { role, apps: '*', instances: '*', seesPayloads: true },
        signal: session.signal,
      },
    );
    const reader = stream.getReader();
    const decoder = new TextDecoder();
    const reads = async () => decoder.decode((await reader.read()).value);
    return { reader, reads };
  };
  const list = (
    filter: Partial<LogFilter> = {},
    page: { beforeMs?: number; limit?: number } = {},
  ) => reading.list({ ...everything, ...filter, limit: 100, ...page });
  const messages = (filter: Partial<LogFilter> = {}) =>
    list(filter).lines.map(({ message }) => message);
  return { ring, time, log, reading, follow, list, messages, session, logged };
}

/** The messages of the lines in a text of events. */
function messagesIn(text: string): readonly string[] {
  return [...text.matchAll(/"message":"([^"]*)"/g)].map(([, message = '']) => message);
}

describe('the kept lines', () => {
  it('are listed by level and text, page by page from the newest', () => {
    const { log, list, messages, logged } = stage();
    log.info('Started');
    logged.atMs = 18;
    log.warn('Refused', { app: 'shop', address: '1.2.3.4', times: 3 });
    logged.atMs = 19;
    log.error('Broken', { instance: 'i-1' });
    expect(list().lines[1]).toEqual({
      n: 2,
      atMs: 18,
      level: 'warn',
      message: 'Refused',
      fields: { app: 'shop', address: '1.2.3.4', times: 3 },
    });
    expect(messages({ level: 'warn' })).toEqual(['Refused', 'Broken']);
    expect(messages({ text: 'APP=shop' })).toEqual(['Refused']);
    expect(messages({ text: 'start' })).toEqual(['Started']);
    const last = list({}, { limit: 2 });
    expect([last.lines.map(({ n }) => n), last.more]).toEqual([[2, 3], true]);
    const first = list({}, { limit: 2, beforeMs: 18 });
    expect([first.lines.map(({ n }) => n), first.more]).toEqual([[1], false]);
  });

  it('are in the order of their times, and those of a millisecond stay together', () => {
    const { log, list, logged } = stage();
    // A line of another thread arrives later.
    for (const [n, atMs] of [30, 10, 20, 20, 40].entries()) {
      logged.atMs = 5_000 + atMs;
      log.info(`Line ${n}`);
    }
    logged.atMs = 1;
    log.info('Oldest');
    const page = (limit: number, beforeMs?: number) => {
      const { lines, more } = list({}, { limit, ...(beforeMs && { beforeMs }) });
      return [lines.map(({ message }) => message.replace('Line ', '')), more];
    };
    expect(page(3)).toEqual([['2', '3', '0', '4'], true]);
    expect(page(3, 5_020)).toEqual([['Oldest', '1'], false]);
  });

  it('show no addresses to users who may not see them, not even by a search', () => {
    const { log, list, messages } = stage();
    log.warn('Refused', { app: 'shop', address: '1.2.3.4' });
    expect(list({ showsAddresses: false }).lines[0]?.fields).toEqual({ app: 'shop' });
    expect(messages({ text: '1.2.3.4' })).toHaveLength(1);
    expect(messages({ text: '1.2.3.4', showsAddresses: false })).toEqual([]);
  });
});

describe('a stream of the log', () => {
  it('begins with kept lines, and continues with those that match', async () => {
    const { log, follow } = stage();
    log.info('One');
    log.warn('Two');
    log.warn('Three');
    const { reads } = follow({ level: 'warn' }, { after: 2 });
    const begin = await reads();
    expect(begin).toStartWith('event: hello\ndata: {"node":"a:1","last":3}\n\nevent: lines\n');
    expect(messagesIn(begin)).toEqual(['Three']);
    const next = reads();
    log.info('Four');
    log.error('Five');
    expect(messagesIn(await next)).toEqual(['Five']);
  });

  it('sends a slow reader the newest lines, and reports how many are missing', async () => {
    const { log, follow } = stage();
    const { reads } = follow();
    for (let n = 0; n < 1_500; n++) log.info(`Line ${n}`);
    const text = await reads();
    expect(messagesIn(text)).toHaveLength(1_000);
    expect(messagesIn(text).at(-1)).toBe('Line 1499');
    // Opening the stream logs a line, too.
    expect(text).toContain('"skipped":501');
  });

  it('sends signs of life, and ends after half an hour', async () => {
    const { time, follow } = stage();
    const { reads, reader } = follow();
    await reads();
    const silent = reads();
    await time.advance(15_000);
    expect(await silent).toBe(':\n\n');
    await time.advance(30 * 60_000);
    expect(await reads()).toEndWith('event: end\ndata: {"why":"time"}\n\n');
    expect((await reader.read()).done).toBe(true);
    expect(Object(Reflect.get(time, 'alarms')).length).toBeLessThan(3);
  });

  it('ends with the session of its reader, and when the server stops', async () => {
    const { follow, session, reading, messages } = stage();
    const one = follow();
    session.abort();
    expect(await one.reads()).toEndWith('"why":"session-ended"}\n\n');
    const other = follow();
    reading[Symbol.dispose]();
    expect(await other.reads()).toEndWith('"why":"stopping"}\n\n');
    expect(messages()).toEqual([
      'Log stream opened',
      'Log stream closed',
      'Log stream opened',
      'Log stream closed',
    ]);
  });

  it('is refused if four are open', async () => {
    const { follow } = stage();
    const [first] = [follow(), follow(), follow(), follow()];
    expect(() => follow()).toThrow('at most 4');
    await first?.reader.cancel();
    expect(() => follow()).not.toThrow();
  });

  it('has a place for an admin, whatever others hold, and goes from who has the most', async () => {
    const { follow } = stage();
    const of = (user: string) => follow({}, { user });
    const [first] = [of('ann'), of('ann'), of('ann')];
    expect(() => of('ann')).toThrow('at most 4');
    expect(() => follow()).not.toThrow();
    expect(() => of('bob')).not.toThrow();
    expect(await first?.reads()).toEndWith('event: end\ndata: {"why":"displaced"}\n\n');
    expect(() => of('bob')).toThrow('at most 4');
  });

  it('ends after half an hour, and that of a user of a proxy after five minutes', async () => {
    const { follow, time } = stage();
    const [owner, ann] = [follow(), follow({}, { user: 'ann' })];
    await Promise.all([owner.reads(), ann.reads()]);
    await time.advance(5 * 60_000);
    const end = 'event: end\ndata: {"why":"time"}\n\n';
    expect(await ann.reads()).toEndWith(end);
    expect(await owner.reads()).not.toContain('"why"');
    await time.advance(25 * 60_000);
    expect(await owner.reads()).toEndWith(end);
  });
});
