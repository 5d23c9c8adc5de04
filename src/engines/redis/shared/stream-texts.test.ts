import { heapStats } from 'bun:jsc';
import { describe, expect, it } from 'bun:test';
import { Unreadable } from '../../../runtime/unreadable.ts';
import { readStreamTexts, type StreamMessage, streamText } from './stream-texts.ts';

function read(text: string): StreamMessage[] {
  const all: StreamMessage[] = [];
  readStreamTexts(text, (message) => all.push(message));
  return all;
}

const messages: readonly StreamMessage[] = [
  { link: 0, stream: 'news', payload: '12e\n\n{}', loops: 1 },
  { link: 63, stream: '4 5 6 7 ', payload: '', loops: 16 },
  { link: 3, stream: 'grüße 🎉', payload: '1 1 1 1 ab', loops: 2 },
];

describe('texts of messages of streams', () => {
  it('are read as they were written, one or several in a row', () => {
    for (const message of messages) expect(read(streamText(message))).toEqual([message]);
    expect(read(messages.map(streamText).join(''))).toEqual([...messages]);
  });

  it('are refused if they are cut anywhere', () => {
    const text = streamText({ link: 1, stream: 'news', payload: 'some text', loops: 2 });
    for (let length = 1; length < text.length; length++) {
      expect(() => read(text.slice(0, length))).toThrow(Unreadable);
    }
    expect(() => read(` ${text}`)).toThrow(Unreadable);
    expect(() => read(`x${text}`)).toThrow(Unreadable);
  });

  it('give messages that do not keep the others in memory', () => {
    const bytes = 1024 * 1024;
    const other = { link: 0, stream: 'large', loops: 1 };
    const small = streamText({ link: 0, stream: 'small', payload: 'kept'.repeat(25), loops: 1 });
    Bun.gc(true);
    const before = heapStats().extraMemorySize;
    const kept = Array.from({ length: 100 }, (_, n) => {
      const large = streamText({ ...other, payload: String(n % 10).repeat(bytes) });
      const [message] = read(small + large);
      return message?.payload.slice(0, 50);
    });
    Bun.gc(true);
    expect(heapStats().extraMemorySize - before).toBeLessThan(10 * bytes);
    expect(new Set(kept)).toEqual(new Set(['kept'.repeat(25).slice(0, 50)]));
  });
});
