import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { HEADER, rightHistory } from '../check/histories.fixture.ts';
import { linesOf, parsed } from './read-history.ts';
import { readHeader, readLine } from './read-line.ts';

const read = (text: string) => readLine(text, 7, 0);
const opened = { op: 'open', t: 1, c: 1, n: 1, socket: '1.1' };

describe('a line of a history', () => {
  it('is read as it was written, for every kind that the model makes', () => {
    const lines = rightHistory(3, 400);
    expect(new Set(lines.map(({ op }) => op)).size).toBeGreaterThan(15);
    for (const line of lines) expect(read(JSON.stringify(line))).toEqual(line);
    expect(readHeader(JSON.stringify(HEADER))).toEqual(HEADER);
  });

  it('may have fields that this version does not know', () => {
    expect(read(JSON.stringify({ ...opened, more: { of: 'it' } }))).toMatchObject(opened);
    expect(readHeader('{"history":1,"more":1}')).toMatchObject({ T: 5000, webhooks: false });
  });

  it.each([
    ['not JSON', 'line 7 is no JSON object'],
    ['[]', 'line 7 is no JSON object'],
    ['', 'line 7 is no JSON object'],
    ['{"op":"fly","t":1}', 'line 7: op is "fly", and must be one of open, close,'],
    ['{"t":1}', 'line 7: op is no text'],
    [JSON.stringify({ ...opened, t: -1 }), 'line 7: t of open must be a number from 0 on'],
    [JSON.stringify({ ...opened, c: 'one' }), 'line 7: c of open must be a whole number'],
    [JSON.stringify({ ...opened, socket: 'x'.repeat(201) }), 'at most 200 characters'],
    ['{"op":"trigger","t":1,"e":"1","ch":"news"}', 'line 7: ch of trigger must be a list'],
    ['{"op":"answer","t":1,"e":"1","status":200,"ids":[]}', 'line 7: ids of answer must be'],
    ['{"op":"fault","t":1,"what":"rain"}', 'line 7: what of fault must be one of kill,'],
    [`${'['.repeat(100_000)}`, 'line 7 is no JSON object'],
    [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'line 7'],
  ])('is refused with its number and the field (%#)', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  it('is refused if time goes back', () => {
    expect(() => readLine(JSON.stringify(opened), 9, 2)).toThrow('line 9: t is 1 after 2');
  });

  it.each([
    ['{}', 'it must begin a history of version 1'],
    ['{"history":2}', 'it must begin a history of version 1'],
    ['{"history":1,"T":1e9}', 'T must be a number'],
    ['{"history":1,"rules":{"kept":"x"}}', 'rules.kept and rules.replay'],
  ])('that is the first one must be a header: %s', (text, message) => {
    expect(() => readHeader(text)).toThrow(message);
  });
});

describe('lines that are no event', () => {
  const trigger = JSON.stringify({ op: 'trigger', t: 1, e: '1', ch: ['a', 'b', 'c'] });

  it('are bounded with each channel, member and device in them', () => {
    expect([...parsed([trigger, trigger], 6)]).toHaveLength(2);
    expect(() => [...parsed([trigger, trigger, JSON.stringify(opened)], 6)]).toThrow(
      'line 4: there are more than 6 lines that are no event',
    );
  });

  it('are bounded apart from events, which take little memory', () => {
    const event = JSON.stringify({ op: 'event', t: 1, c: 1, n: 1, ch: 'a', e: '1' });
    expect([...parsed([event, event, trigger], 3)]).toHaveLength(3);
  });
});

describe('bytes', () => {
  it('are split into the same lines however they arrive', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.array(fc.nat(9)), (texts, cuts) => {
        const lines = texts.map((text) => text.replaceAll('\n', ' '));
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const chunks: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut));
          at += cut;
        }
        expect([...linesOf([...chunks, bytes.subarray(at)])]).toEqual(lines);
      }),
    );
  });

  it('of one endless line are not kept', () => {
    let given = 0;
    function* endless() {
      for (;;) {
        given++;
        yield Buffer.alloc(256 * 1024, 0x20);
      }
    }
    expect(() => [...linesOf(endless())]).toThrow('line 1 has more than 4194304 bytes');
    expect(given).toBeLessThan(20);
  });

  it('that are not UTF-8 are refused, with the line', () => {
    expect(() => [...linesOf([Buffer.from('a\n\xff\n', 'latin1')])]).toThrow('line 2 is not UTF-8');
  });

  it('beyond the bound are refused', () => {
    const line = Buffer.from('xxxxxxxxx\n');
    expect(() => [...linesOf([line, line, line], 25)]).toThrow('line 3: there are more than 25');
  });
});
