import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { AppendOutcome, Piece } from '../../src/channels/appending/append.ts';
import type { EventId } from '../../src/channels/history/event-id.ts';
import type { Entered } from '../../src/channels/ports.ts';
import { eventMessage } from '../../src/channels/wire.ts';
import type { OpenCluster } from './authority.contract.ts';
import type { LoopStage } from './loop-stage.ts';
import { appWith, appWithHistory, channel } from './values.ts';

const app = appWithHistory([{ channels: 'private-cache-kept-*' }]);
const other = appWith({}, 'other');

/** Channels with different homes, however many loops there are. */
const NAMES = Array.from({ length: 6 }, (_, n) => `private-cache-${n}`);
const BYTES_MAX = 1000;

const ID = /^[1-9]\d*-[a-z0-9]{8}$/;

interface Added {
  readonly isStopped?: boolean;
  readonly eventId?: EventId | undefined;
}

function sent(length: number, { isStopped = false, eventId }: Added = {}): AppendOutcome {
  return { result: 'sent', length, isStopped, eventId };
}

function repeated(length: number, { isStopped = false, eventId }: Added = {}): AppendOutcome {
  return { result: 'repeated', length, isStopped, eventId };
}

function dataOf(entered: Entered | 'full') {
  return entered === 'full' || entered.cached === undefined
    ? undefined
    : JSON.parse(entered.cached.data);
}

/** What the core expects of an authority to whose values producers append. */
export function valuesContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
): void {
  const stage = async () => {
    const cluster = await open([app, other]);
    const at = (n: number): LoopStage => {
      const loop = cluster.loops[n % cluster.loops.length];
      if (loop === undefined) throw new Error('There is no loop');
      return loop;
    };
    return {
      at,
      advance: (ms: number) => cluster.advance(ms),
      settled: () => cluster.settled(),
      append: async (
        n: number,
        text: string,
        piece: Partial<Piece> & Pick<Piece, 'at' | 'text'>,
        { of = app, bytesMax = BYTES_MAX, name: event = 'answer' } = {},
      ): Promise<AppendOutcome> =>
        await at(n).authority.append({
          app: of,
          channel: channel(text),
          name: event,
          piece: { id: 'm1', isLast: false, ...piece },
          bytesMax,
        }),
    };
  };

  describe(`${name} keeps the contract of values`, () => {
    it('sends each piece in order, and the whole to whoever enters between two', async () => {
      const { at, append, settled } = await stage();
      // Characters that are escaped once or twice in frames, and some of several bytes and units.
      const pieces = ['Hel', 'lo "\\\n\u0001', 'wörld \u2028', '👍🏽', '', 'end'];
      for (const text of NAMES) {
        const frames: string[] = [];
        at(1).read(app, text, (frame) => void frames.push(frame));
        await at(1).join(app, text);
        let whole = '';
        for (const [n, piece] of pieces.entries()) {
          const isLast = n === pieces.length - 1;
          const appended = await append(n, text, { at: whole.length, text: piece, isLast });
          whole += piece;
          expect(appended).toEqual(sent(whole.length));
          const data = { id: 'm1', at: 0, text: whole, ...(isLast ? { end: true } : {}) };
          const late = await at(n + 2).join(app, text);
          expect(dataOf(late)).toEqual(data);
          expect(late).toMatchObject({
            cached: { value: { id: 'm1', length: whole.length, hasEnded: isLast } },
          });
          const cached = await at(n + 1).authority.cached(app, channel(text));
          expect(cached).toMatchObject({ name: 'answer', leftMs: 1_800_000 });
          expect(cached?.data).toBe(JSON.stringify(data));
        }
        await settled();
        const at0 = JSON.stringify({ id: 'm1', at: 0, text: 'Hel' });
        expect(frames[0]).toBe(eventMessage('answer', channel(text).text, at0));
        const received = frames.map((frame) => JSON.parse(JSON.parse(frame).data));
        expect(received).toHaveLength(5);
        let joined = '';
        for (const piece of received) joined = joined.slice(0, piece.at) + piece.text;
        expect(joined).toBe(whole);
        expect(received.at(-1).end).toBe(true);
      }
    });

    it('decides by the position of a piece', async () => {
      const { at, append, settled } = await stage();
      for (const [n, text] of NAMES.entries()) {
        const frames: string[] = [];
        at(n).read(app, text, (frame) => void frames.push(frame));
        await at(n).join(app, text);
        const add = (place: number, piece: string, more: Partial<Piece> = {}) =>
          append(n + place, text, { at: place, text: piece, ...more });
        expect(await add(1, 'x')).toEqual({ result: 'unknown' });
        expect(await add(0, 'abc')).toEqual(sent(3));
        expect(await add(4, 'x')).toEqual({ result: 'ahead', length: 3 });
        expect(await add(1, 'bc')).toEqual(repeated(3));
        expect(await add(2, 'cd👍')).toEqual(sent(6));
        expect(await add(4, 'x👍')).toEqual({ result: 'within-character' });
        expect(await add(3, 'x', { id: 'm2' })).toEqual({ result: 'replaced', by: 'm1' });
        expect(await add(4, '👍', { isLast: true })).toEqual(sent(6));
        expect(await add(4, '👍', { isLast: true })).toEqual(repeated(6));
        expect(await add(6, '', { isLast: true })).toEqual(repeated(6));
        expect(await add(6, 'x')).toEqual({ result: 'ended' });
        expect(await add(0, 'new')).toEqual(sent(3));
        expect(await add(0, 'other', { id: 'm2' })).toEqual(sent(5));
        expect(await add(3, 'x')).toEqual({ result: 'replaced', by: 'm2' });
        await settled();
        expect(frames.map((frame) => JSON.parse(JSON.parse(frame).data))).toEqual([
          { id: 'm1', at: 0, text: 'abc' },
          { id: 'm1', at: 3, text: 'd👍' },
          { id: 'm1', at: 6, text: '', end: true },
          { id: 'm1', at: 0, text: 'new' },
          { id: 'm2', at: 0, text: 'other' },
        ]);
      }
    });

    it('refuses more than its bytes, and keeps what there was', async () => {
      const { at, append } = await stage();
      for (const text of NAMES) {
        const limit = { bytesMax: 10 };
        expect(await append(0, text, { at: 0, text: 'éééé' }, limit)).toEqual(sent(4));
        expect(await append(1, text, { at: 4, text: 'éx' }, limit)).toEqual({
          result: 'too-large',
        });
        expect(await append(1, text, { at: 0, text: 'x'.repeat(11) }, limit)).toEqual({
          result: 'too-large',
        });
        // In a frame, each of these takes seven bytes.
        expect(await append(1, text, { at: 0, text: '\u0001'.repeat(6) }, limit)).toEqual({
          result: 'too-large',
        });
        expect(await append(1, text, { at: 4, text: 'xx' }, limit)).toEqual(sent(6));
        expect(dataOf(await at(2).join(app, text)).text).toBe('ééééxx');
      }
    });

    it('is remembered for 30 minutes after its last piece, and forgotten with the history', async () => {
      const { at, append, advance } = await stage();
      for (const [n, text] of NAMES.entries()) await append(n, text, { at: 0, text: 'a' });
      await advance(1_799_999);
      for (const [n, text] of NAMES.entries()) {
        expect(await append(n + 1, text, { at: 1, text: '' })).toEqual(sent(1));
      }
      await advance(1_799_999);
      const cached = (n: number, text: string) => at(n).authority.cached(app, channel(text));
      for (const [n, text] of NAMES.entries()) {
        expect(await cached(n, text)).toMatchObject({ leftMs: 1 });
        if (n % 2 === 0) continue;
        await at(n + 1).authority.forgetHistory(app, channel(text));
        expect(await cached(n, text)).toBeUndefined();
        expect(await append(n, text, { at: 1, text: 'b' })).toEqual({ result: 'unknown' });
      }
      await advance(1);
      for (const [n, text] of NAMES.entries()) {
        expect(await cached(n, text)).toBeUndefined();
        expect(await append(n, text, { at: 1, text: 'b' })).toEqual({ result: 'unknown' });
      }
    });

    it('replaces an event of its channel, and is replaced by one', async () => {
      const { at, append } = await stage();
      for (const [n, text] of NAMES.entries()) {
        await at(n).publish(app, text, 'plain');
        await append(n + 1, text, { at: 0, text: 'a' });
        expect(await at(n).authority.cached(app, channel(text))).toMatchObject({ name: 'answer' });
        await at(n).publish(app, text, 'plain');
        expect(await at(n + 1).authority.cached(app, channel(text))).toEqual({
          name: 'plain',
          data: 'data',
          leftMs: 1_800_000,
        });
        expect(await append(n, text, { at: 1, text: 'b' })).toEqual({ result: 'unknown' });
        expect(await at(n).authority.cached(other, channel(text))).toBeUndefined();
      }
    });

    it('is one event of the history, when it has ended', async () => {
      const { at, append, settled } = await stage();
      for (let n = 0; n < 6; n++) {
        const text = `private-cache-kept-${n}`;
        const frames: string[] = [];
        at(n).read(app, text, (frame) => void frames.push(frame));
        await at(n).join(app, text);
        const first = await at(n).publish(app, text, 'first');
        expect(await append(n, text, { at: 0, text: '"a' })).toEqual(sent(2));
        expect(await append(n + 1, text, { at: 2, text: 'b' })).toEqual(sent(3));
        const ended = await append(n + 2, text, { at: 3, text: 'c', isLast: true });
        const eventId = 'eventId' in ended ? ended.eventId : undefined;
        expect(eventId).toMatch(ID);
        expect(ended).toEqual(sent(4, { eventId }));
        const again = await append(n, text, { at: 3, text: 'c', isLast: true });
        expect(again).toEqual(repeated(4, { eventId }));
        await settled();
        expect(JSON.parse(frames.at(-1) ?? '')).toEqual({
          event: 'answer',
          channel: text,
          data: '{"id":"m1","at":3,"text":"c","end":true}',
          id: eventId ?? '',
        });
        const place = { after: first as EventId, socketIds: [] };
        const request = { place, roomBytes: 1e6 };
        const entered = await at(n + 1).join(app, text, undefined, undefined, request);
        const whole = '{"id":"m1","at":0,"text":"\\"abc","end":true}';
        expect(entered).toMatchObject({
          cached: { data: whole, id: eventId, value: { hasEnded: true } },
          history: { outcome: 'resumed', id: eventId ?? '' },
        });
        const missed = entered === 'full' ? [] : (entered.history?.frames ?? []);
        expect(missed).toEqual([
          eventMessage('answer', channel(text).text, whole, eventId as EventId),
        ]);
      }
    });

    it('answers its producer that it should stop, until another value begins', async () => {
      const { at, append } = await stage();
      for (const [n, text] of NAMES.entries()) {
        const stop = (id: string) => at(n + 1).authority.stopValue(app, channel(text), id);
        const byClient = (id: string) =>
          at(n + 2).authority.publish({
            app,
            channel: channel(text).text,
            makeFrame: () => eventMessage('client-stop', channel(text).text, '{}'),
            cause: 'clients',
            remember: undefined,
            stops: id,
          });
        expect(await stop('m1')).toEqual({ result: 'unknown' });
        await append(n, text, { at: 0, text: 'a' });
        await byClient('m2');
        expect(await stop('m2')).toEqual({ result: 'unknown' });
        expect(await append(n, text, { at: 1, text: 'b' })).toEqual(sent(2));
        if (n % 2 === 0) expect(await stop('m1')).toEqual(sent(2, { isStopped: true }));
        else await byClient('m1');
        const stopped = { isStopped: true };
        expect(await append(n, text, { at: 1, text: 'b' })).toEqual(repeated(2, stopped));
        expect(await append(n + 1, text, { at: 2, text: 'c' })).toEqual(sent(3, stopped));
        expect(await append(n + 1, text, { at: 0, text: 'x' })).toEqual(sent(1, stopped));
        expect(await append(n, text, { at: 1, text: '', isLast: true })).toEqual(sent(1, stopped));
        expect(await stop('m1')).toEqual({ result: 'unknown' });
        expect(await append(n, text, { at: 0, text: 'y', id: 'm2' })).toEqual(sent(1));
      }
    });
  });
}
