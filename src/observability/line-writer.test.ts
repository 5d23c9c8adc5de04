import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { LineWriter, type LogLine, SERVER } from './line-writer.ts';

/** A writer whose reader takes a batch of lines when a test says so. */
function stage() {
  const batches: string[][] = [];
  const writer = new LineWriter({
    send: (text) => batches.push(text.trimEnd().split('\n')),
    droppedLine: (owner, lines) => `dropped ${owner} ${lines}`,
  });
  const write = (text: string, more: Partial<LogLine> = {}) =>
    writer.write({ text, owner: SERVER, isSevere: false, ...more });
  return { batches, writer, write };
}

/** Lines of 1 Ki characters each with their end, of which 4,096 find room. */
const line = (name: string) => name.padEnd(1_023, '.');
const namesOf = (lines: readonly string[] = []) => lines.map((text) => text.replace(/\.+$/, ''));

describe('lines of the log', () => {
  it('are written at once, and those that arrive meanwhile together, in order', () => {
    const { batches, writer, write } = stage();
    write('a');
    write('b', { owner: 'app 1' });
    write('c');
    expect(batches).toEqual([['a']]);
    writer.written(true);
    expect(batches).toEqual([['a'], ['b', 'c']]);
    writer.written(true);
    write('d');
    expect(batches).toHaveLength(3);
  });

  it('of the owner with the most are dropped first, newest first, and the number is logged', () => {
    const { batches, writer, write } = stage();
    write('first');
    for (let at = 0; at < 5_000; at++) write(line(`flood-${at}`), { owner: 'app flood' });
    for (let at = 0; at < 20; at++) write(line(`quiet-${at}`), { owner: 'app quiet' });
    write(line('own'));
    writer.written(true);

    const names = namesOf(batches[1]);
    expect(names.filter((name) => name.startsWith('quiet'))).toHaveLength(20);
    expect(names).toContain('own');
    const floods = names.filter((name) => name.startsWith('flood'));
    expect(floods).toEqual(Array.from({ length: 4_096 - 21 }, (_, at) => `flood-${at}`));
    expect(names.at(-1)).toBe(`dropped app flood ${5_000 - floods.length}`);
    expect(writer.droppedLines).toBe(5_000 - floods.length);
  });

  it('that are warnings and errors of the server have room of their own', () => {
    const { batches, writer, write } = stage();
    write('first');
    for (let owner = 0; owner < 5_000; owner++) write(line('x'), { owner: `app ${owner}` });
    write(line('info'));
    write(line('error'), { isSevere: true });
    for (let at = 0; at < 255; at++) write(line('more'), { isSevere: true });
    write(line('one too many'), { isSevere: true });
    writer.written(true);
    const names = namesOf(batches[1]);
    expect(names).toContain('error');
    expect(names.filter((name) => name === 'more')).toHaveLength(255);
    expect(names).not.toContain('info');
    expect(names).not.toContain('one too many');
    // A severe line about a tenant is that tenant's.
    write(line('severe'), { owner: 'app 9999', isSevere: true });
  });

  it('that could not be written are counted, and that is logged with the next line', () => {
    const { batches, writer, write } = stage();
    write('a');
    write('b');
    writer.written(false);
    expect(batches.at(-1)).toEqual(['b', 'dropped server 1']);
    writer.written(false);
    // Nobody is there to read it.
    expect(batches).toHaveLength(2);
    write('c');
    expect(batches.at(-1)).toEqual(['c', 'dropped server 2']);
    expect(writer.droppedLines).toBe(3);
  });

  it('of many owners are counted for 20 of them, and for the others together', () => {
    const { batches, writer, write } = stage();
    write('first');
    for (let at = 0; at < 4_096; at++) write(line('x'), { owner: `app full-${at}` });
    for (let at = 0; at < 30; at++) write(line('x'), { owner: `app ${at}` });
    writer.written(true);
    const reports = batches[1]?.filter((text) => text.startsWith('dropped'));
    expect(reports).toHaveLength(21);
    expect(reports?.at(-1)).toBe('dropped others 10');
  });

  it('are waited for on closing, up to a limit', async () => {
    const { writer, write } = stage();
    await writer.flushed(60_000);
    write('a');
    write('b');
    let isDone = false;
    const flushed = writer.flushed(60_000).then(() => {
      isDone = true;
    });
    writer.written(true);
    await Promise.resolve();
    expect(isDone).toBe(false);
    writer.written(true);
    await flushed;
    write('c');
    await writer.flushed(1);
  });

  it('keep their order and add up, whatever is written and however it is read', () => {
    const step = fc.oneof(
      fc.record({
        owner: fc.constantFrom(SERVER, 'app 1', 'app 2', 'instance 3'),
        isSevere: fc.boolean(),
        characters: fc.integer({ min: 20, max: 900_000 }),
      }),
      fc.boolean(),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { batches, writer, write } = stage();
        const owners: string[] = [];
        let written = 0;
        let waiting = 0;
        for (const one of steps) {
          if (typeof one === 'boolean') {
            if (batches.length > written) {
              writer.written(true);
              written++;
              waiting = 0;
            }
            continue;
          }
          const { owner, isSevere, characters } = one;
          write(`${owners.length} `.padEnd(characters, '.'), { owner, isSevere });
          owners.push(owner);
          waiting += characters;
        }
        while (batches.length > written) {
          writer.written(true);
          written++;
        }
        const lines = batches.flat();
        const kept = lines
          .filter((text) => !text.startsWith('dropped'))
          .map((text) => parseInt(text, 10));
        expect(kept).toEqual(kept.toSorted((a, b) => a - b));
        const reported = lines
          .filter((text) => text.startsWith('dropped'))
          .reduce((sum, text) => sum + Number(text.split(' ').at(-1)), 0);
        expect(kept.length + reported).toBe(owners.length);
        expect(reported).toBe(writer.droppedLines);
        if (waiting === 0) return;
        for (const batch of batches.slice(1)) {
          const characters = batch.reduce((sum, text) => sum + text.length, 0);
          expect(characters).toBeLessThan(4_194_304 + 262_144 + 1_000);
        }
      }),
      { numRuns: 50 },
    );
  });
});
