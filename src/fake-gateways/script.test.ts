import { describe, expect, it } from 'bun:test';
import { NotificationLog } from './notification-log.ts';
import { FaultScript } from './script.ts';

describe('a script', () => {
  it('applies acts to the next requests, in order', () => {
    const script = new FaultScript();
    script.forNext(2, { act: 'hang' });
    script.forNext(1, { act: 'reset' });
    const acts = ['a', 'b', 'c', 'd'].map((token) => script.take(token)?.act);
    expect(acts).toEqual(['hang', 'hang', 'reset', undefined]);
  });

  it('applies acts to a token, until they are replaced', () => {
    const script = new FaultScript();
    script.forToken('a', { act: 'cut' }, 1);
    script.forToken('b', { act: 'hang' });
    script.forNext(1, { act: 'reset' });
    const acts = ['b', 'b', 'a', 'a', 'a', 'b'].map((token) => script.take(token)?.act);
    expect(acts).toEqual(['hang', 'hang', 'cut', 'reset', undefined, 'hang']);
    script.clear();
    expect(script.take('b')).toBeUndefined();
  });
});

describe('a notification log', () => {
  it('keeps the newest entries, and counts all', () => {
    const log = new NotificationLog<number>(3);
    for (let entry = 0; entry < 20; entry++) log.add(entry);
    expect(log.list()).toEqual([17, 18, 19]);
    expect(log.count).toBe(20);
  });

  it('settles once enough entries have arrived', async () => {
    const log = new NotificationLog<number>();
    const two = log.reaches(2);
    log.add(1);
    log.add(2);
    await two;
    expect(log.list()).toEqual([1, 2]);
  });
});
