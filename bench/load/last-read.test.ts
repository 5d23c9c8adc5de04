import { beforeEach, describe, expect, it } from 'bun:test';
import { LastRead } from './last-read.ts';

const READ = Buffer.from('event '.repeat(400));

describe('the last read', () => {
  let last: LastRead;
  beforeEach(() => {
    last = new LastRead();
  });
  function read(bytes: Buffer, sequences: readonly number[], spoiled = false): void {
    last.begin();
    for (const sequence of sequences) last.add(sequence);
    if (spoiled) last.spoil();
    // The buffer of all reads is longer than each, and is overwritten by the next one.
    const buffer = Buffer.concat([bytes, Buffer.alloc(100)]);
    last.end(buffer, bytes.length);
    buffer.fill(0);
  }

  it('returns the events of the last read if it had the same bytes', () => {
    read(READ, [4, 5]);
    expect(last.sequencesIn(READ, READ.length)).toEqual([4, 5]);
    read(READ, [6]);
    expect(last.sequencesIn(Buffer.concat([READ, READ]), READ.length)).toEqual([6]);
  });

  it('returns nothing if the bytes are different, longer or shorter', () => {
    expect(last.sequencesIn(READ, READ.length)).toBeUndefined();
    read(READ, [4, 5]);
    const changed = Buffer.from(READ);
    changed[READ.length - 1] = 0;
    expect(last.sequencesIn(changed, changed.length)).toBeUndefined();
    expect(last.sequencesIn(READ, READ.length - 1)).toBeUndefined();
    const longer = Buffer.concat([READ, READ]);
    expect(last.sequencesIn(longer, longer.length)).toBeUndefined();
  });

  it('returns nothing if the last read contained something else too, or has not ended', () => {
    read(READ, [4, 5], true);
    expect(last.sequencesIn(READ, READ.length)).toBeUndefined();
    read(READ, [4, 5]);
    last.begin();
    last.add(4);
    expect(last.sequencesIn(READ, READ.length)).toBeUndefined();
  });
});
