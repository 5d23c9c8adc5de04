import { describe, expect, it } from 'bun:test';
import { tooFew } from './work-in-store.ts';

describe('a scene in which too little was answered', () => {
  it('is not held, whatever it is that was not answered once before each fault', () => {
    const enough = { publishes: 20, devices: 300, apps: 21, triggers: 4000 };
    expect(tooFew(enough, 20)).toEqual([]);
    for (const what of Object.keys(enough)) {
      const problem = `only 19 ${what} were answered before 20 faults`;
      expect(tooFew({ ...enough, [what]: 19 }, 20)).toEqual([problem]);
    }
  });
});
