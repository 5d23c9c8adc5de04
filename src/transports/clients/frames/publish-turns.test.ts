import { describe, expect, it } from 'bun:test';
import { PublishTurns } from './publish-turns.ts';

function stage() {
  const happened: string[] = [];
  let ends: (() => void)[] = [];
  const turns = new PublishTurns({
    bytesMax: 100,
    afterTurn: (run) => void ends.push(run),
    flush: () => void happened.push('flush'),
    sent: () => void happened.push('look'),
  });
  return {
    turns,
    happened,
    /** Publishes so many bytes. */
    publish: (name: string, bytes: number) => () => {
      happened.push(name);
      turns.published(bytes);
      return name;
    },
    /** The loop has sent what it published; returns what happened then. */
    endTurns(count = 1) {
      happened.length = 0;
      for (let turn = 0; turn < count; turn++) {
        const now = ends;
        ends = [];
        for (const run of now) run();
      }
      return [...happened];
    },
  };
}

describe('what one turn of the loop publishes', () => {
  it('is not delayed below the limit', () => {
    const { turns, publish, happened } = stage();
    expect(turns.continue(publish('a', 30))).toBe('a');
    expect(turns.continue(publish('b', 69))).toBe('b');
    expect(turns.isOpen).toBe(true);
    expect(happened).toEqual(['a', 'b']);
  });

  it('continues after the loop has sent it, and it is known who does not read', async () => {
    const { turns, publish, endTurns } = stage();
    void turns.continue(publish('a', 100));
    const later = turns.continue(publish('b', 100));
    const last = turns.continue(publish('c', 1));
    expect(turns.isFull).toBe(true);
    expect(endTurns(3)).toEqual(['flush', 'look', 'b']);
    expect(await later).toBe('b');
    expect(endTurns(3)).toEqual(['flush', 'look', 'c']);
    expect(await last).toBe('c');
    expect(turns.isOpen).toBe(true);
  });

  it('fails alone', async () => {
    const { turns, publish, endTurns } = stage();
    void turns.continue(publish('a', 100));
    const failed = turns.continue((): string => {
      throw new Error('no');
    });
    const later = turns.continue(publish('b', 1));
    endTurns(3);
    await expect(failed).rejects.toThrow('no');
    expect(await later).toBe('b');
  });

  it('is what has begun, and then requests that have not, apps in turn', () => {
    const { turns, publish, endTurns } = stage();
    void turns.continue(publish('first', 100));
    for (const name of ['a1', 'a2', 'a3']) turns.begin('a', publish(name, 60));
    turns.begin('b', publish('b1', 60));
    void turns.continue(publish('begun', 60));
    expect(turns.isOpen).toBe(false);
    expect(endTurns(3)).toEqual(['flush', 'look', 'begun', 'a1']);
    expect(endTurns(3)).toEqual(['flush', 'look', 'b1', 'a2']);
    expect(endTurns(3)).toEqual(['flush', 'look', 'a3']);
    expect(turns.isOpen).toBe(true);
  });

  it('does not add up over turns', () => {
    const { turns, publish, endTurns } = stage();
    for (let turn = 0; turn < 10; turn++) {
      expect(turns.continue(publish('a', 60))).toBe('a');
      endTurns(3);
    }
    expect(turns.isOpen).toBe(true);
  });
});
