import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import type { LogFields } from '../runtime/ports.ts';
import { createLog, type LogFormat } from './log.ts';

const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

/** What a log writes for one message. */
function lineOf(format: LogFormat, message: string, fields: LogFields) {
  const lines: { text: string; owner: string; isSevere: boolean }[] = [];
  const log = createLog({ level: 'info', format, write: (line) => lines.push(line), now: () => 0 });
  log.debug(message, fields);
  log.warn(message, fields);
  const [line] = lines;
  if (line === undefined || lines.length !== 1) throw new Error('not one line');
  return line;
}

describe.each(['json', 'text'] as const)('a line in %s', (format) => {
  it('holds nothing that could control a terminal or end the line, whatever its fields hold', () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 600 });
    fc.assert(
      fc.property(text, text, text, (message, value, name) => {
        const { text: line } = lineOf(format, message, { channel: value, [name]: value });
        expect(line).not.toMatch(UNSAFE);
      }),
    );
    for (let code = 0; code < 0x3000; code++) {
      const { text: line } = lineOf(format, 'x', { channel: `bad${String.fromCharCode(code)}2J` });
      expect(line).not.toMatch(UNSAFE);
    }
  });
});

it.each(['json', 'text'] as const)('a line in %s has no password of a URL in it', (format) => {
  const why = `fetching "http://u:${'hunter2'.repeat(80)}@x.test/" failed`;
  expect(lineOf(format, 'x', { why }).text).toContain('http://***@x.test/');
  expect(lineOf(format, 'x', { why }).text).not.toContain('hunter2');
});

it('a line in json is parsed to the original texts', () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 400 });
  fc.assert(
    fc.property(text, text, (message, channel) => {
      const line = lineOf('json', message, { channel });
      expect(JSON.parse(line.text)).toEqual({
        time: '1970-01-01T00:00:00.000Z',
        level: 'warn',
        message,
        channel,
      });
    }),
  );
});

it('a line in text shows which characters were escaped', () => {
  const { text } = lineOf('text', 'Subscription refused', {
    channel: 'bad\u009b2J\u202e',
    name: 'grüße',
    app: '3',
    left: undefined,
  });
  expect(text).toEndWith(
    'WARN  Subscription refused  channel="bad\\u009b2J\\u202e"  name="grüße"  app=3',
  );
});

it('a line belongs to the app or instance that it is about, or to the server', () => {
  expect(lineOf('json', 'x', { app: '3', instance: 'i' }).owner).toBe('app 3');
  expect(lineOf('json', 'x', { instance: 'i' })).toMatchObject({
    owner: 'instance i',
    isSevere: true,
  });
  expect(lineOf('json', 'x', { address: '::1' }).owner).toBe('server');
});
