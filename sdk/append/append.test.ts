import { describe, expect, it } from 'bun:test';
import { Inbox } from '../../testing/inbox.ts';
import { append } from './index.js';

interface Sent {
  readonly text: unknown;
  readonly piece: { readonly id: string; readonly at: number; readonly end?: boolean };
  answer(more?: object): void;
  refuse(status?: number): void;
}

/** A library whose requests the test answers. Nothing is sent while one is in flight. */
function stage(options: object = {}) {
  const requests = new Inbox<Sent>('The library');
  let inFlight = 0;
  const pusher = {
    trigger: (_: string, _event: string, text: unknown, params?: { append: Sent['piece'] }) => {
      expect(++inFlight).toBe(1);
      const piece = params?.append ?? expect.unreachable();
      return new Promise<{ json(): Promise<unknown> }>((resolve, reject) => {
        const length = piece.at + String(text).length;
        requests.put({
          text,
          piece,
          answer(more = {}) {
            inFlight--;
            resolve({ json: async () => ({ length, ...more }) });
          },
          refuse(status) {
            inFlight--;
            reject(Object.assign(new Error('refused'), { status }));
          },
        });
      });
    },
  };
  const value = append(pusher, 'cache-a', { id: 'm1', waitMs: 1, heartbeatMs: 5, ...options });
  return { value, next: () => requests.next() };
}

describe('append', () => {
  it('has one request in flight, and sends what comes meanwhile with the next one', async () => {
    const { value, next } = stage();
    value.write('Hel');
    const first = await next();
    expect(first).toMatchObject({ text: 'Hel', piece: { id: 'm1', at: 0 } });
    for (const text of ['l', 'o ', 'wo']) value.write(text);
    first.answer();
    const second = await next();
    expect(second).toMatchObject({ text: 'lo wo', piece: { id: 'm1', at: 3 } });
    value.write('rld');
    const end = value.end();
    second.answer();
    const last = await next();
    expect(last).toMatchObject({ text: 'rld', piece: { id: 'm1', at: 8, end: true } });
    last.answer({ event_ids: { 'cache-a': '1-abc' } });
    expect(await end).toEqual({ length: 11, event_ids: { 'cache-a': '1-abc' } });
    expect(value.stopped.aborted).toBe(false);
  });

  it('never sends half of a character, and of a long text at most what an event may have', async () => {
    const { value, next } = stage();
    value.write('a\ud83d');
    const first = await next();
    expect(first.text).toBe('a');
    value.write(`\udc4d${'x'.repeat(2996)}👍${'y'.repeat(2999)}👍\ud83d`);
    first.answer();
    const texts: unknown[] = [];
    const end = value.end();
    for (let isLast = false; !isLast; ) {
      const { text, piece, answer } = await next();
      texts.push(text);
      isLast = piece.end === true;
      answer();
    }
    expect((await end).length).toBe(1 + 2 + 2996 + 2 + 2999 + 2 + 1);
    expect(texts.join('')).toBe(`👍${'x'.repeat(2996)}👍${'y'.repeat(2999)}👍\ufffd`);
    for (const text of texts) {
      expect(String(text).isWellFormed()).toBe(true);
      expect(Buffer.byteLength(String(text))).toBeLessThanOrEqual(10_240);
    }
  });

  it('repeats at the same place what got no answer, with what was written since', async () => {
    const { value, next } = stage();
    value.write('ab');
    (await next()).answer();
    value.write('c');
    const lost = await next();
    expect(lost).toMatchObject({ text: 'c', piece: { at: 2 } });
    value.write('c');
    lost.refuse();
    const late = await next();
    expect(late).toMatchObject({ text: 'cc', piece: { at: 2 } });
    late.refuse(503);
    const again = await next();
    expect(again).toMatchObject({ text: 'cc', piece: { at: 2 } });
    again.answer();
    const end = value.end();
    (await next()).answer();
    expect(await end).toEqual({ length: 4 });
  });

  it('sends all again from 0 when the server has forgotten the value', async () => {
    const { value, next } = stage();
    value.write('abc');
    (await next()).answer();
    value.write('d');
    (await next()).refuse(404);
    const again = await next();
    expect(again).toMatchObject({ text: 'abcd', piece: { at: 0 } });
    // There is no such app.
    again.refuse(404);
    await expect(value.end()).rejects.toThrow('refused');
    expect(value.stopped.aborted).toBe(true);
  });

  it('asks while nothing is written, and says that somebody has asked to stop', async () => {
    const { value, next } = stage();
    value.write('abc');
    (await next()).answer();
    const asked = await next();
    expect(asked).toMatchObject({ text: '', piece: { id: 'm1', at: 3 } });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    value.stopped.addEventListener('abort', () => resolve(value.stopped.reason));
    asked.answer({ stop: true });
    expect(await promise).toMatchObject({ name: 'AbortError' });
    const end = value.end();
    let last = await next();
    if (last.piece.end !== true) {
      last.answer();
      last = await next();
    }
    last.answer({ stop: true });
    expect(await end).toEqual({ length: 3, stop: true });
  });

  it('is over when another value has replaced it', async () => {
    const { value, next } = stage();
    value.write('abc');
    (await next()).answer();
    value.write('d');
    (await next()).refuse(409);
    await expect(value.end()).rejects.toMatchObject({ status: 409 });
    expect(value.stopped.reason).toMatchObject({ status: 409 });
  });
});
