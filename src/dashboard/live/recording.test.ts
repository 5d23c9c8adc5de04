import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { RECORDING_BYTES, RECORDING_MS, Recorder, readRecording } from './recording.ts';
import type { LiveRecord } from './records.ts';

const event = (n: number, more: Partial<LiveRecord> = {}): LiveRecord => ({
  n,
  atMs: 1000 + n,
  kind: 'api',
  channel: 'a',
  event: 'e',
  data: '{"id":1}',
  ...more,
});

describe('a recording', () => {
  it('is read as it was written, completed by what came later', async () => {
    const recorder = new Recorder('shop', 500);
    recorder.take(event(1, { receivers: 0 }));
    recorder.gap('14 s missing');
    recorder.take(event(2));
    recorder.update({ n: 1, receivers: 3 } as { n: number });
    // Of a record that the filter kept out.
    recorder.update({ n: 9 });
    const text = await recorder.file().text();
    expect(text.split('\n')).toHaveLength(6);
    expect(readRecording('a file', text)).toEqual({
      name: 'a file',
      app: 'shop',
      rows: [
        { id: 1, record: event(1, { receivers: 3 }) },
        { id: 2, gap: '14 s missing' },
        { id: 3, record: event(2) },
      ],
      unread: 0,
    });
  });

  it('ends after ten minutes and at 16 MB, and grows no further', () => {
    const recorder = new Recorder('shop', 500);
    expect(recorder.over(500 + RECORDING_MS - 1)).toBeUndefined();
    expect(recorder.over(500 + RECORDING_MS)).toBe('ten minutes are over');
    const data = 'x'.repeat(1_000_000);
    for (let n = 1; n <= 20; n++) recorder.take(event(n, { data }));
    expect(recorder.over(501)).toBe('the file has 16 MB');
    expect(recorder.records).toBe(17);
    expect(recorder.bytes).toBeLessThan(RECORDING_BYTES + 1_001_000);
  });

  it('may come from anybody: lines that are no records are counted, and fields have their types', () => {
    const text = [
      JSON.stringify({ ...event(1), data: { evil: true }, receivers: '3', bytes: '7' }),
      'no json',
      '[1]',
      'null',
      '{"n":1}',
      '{"update":{"n":1,"kind":7,"receivers":4}}',
      '{"update":null}',
      '{"gap":7}',
    ].join('\n');
    const { rows, unread } = readRecording('x', text);
    const { data: _, ...plain } = event(1);
    expect(rows).toEqual([{ id: 1, record: { ...plain, receivers: 4 } }]);
    expect(unread).toBe(5);
  });

  it('never throws, whatever it contains', () => {
    const line = fc.oneof(fc.json(), fc.string(), fc.constant('{"update":{"n":"__proto__"}}'));
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        readRecording('x', lines.join('\n'));
      }),
    );
  });
});
