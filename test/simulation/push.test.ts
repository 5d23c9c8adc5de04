import { describe, expect, it } from 'bun:test';
import { runs, testSeed } from '../../testing/long-run.ts';
import { findProblems } from './push-checks.ts';
import { PushWorld } from './push-world.ts';

const SEEDS = runs(200, 25_000);

async function problemsOf(seed: number): Promise<readonly string[]> {
  const world = new PushWorld(seed);
  await world.run();
  return findProblems(world);
}

describe('the delivery pipeline', () => {
  it('accounts for each device once, whatever fails and crashes', async () => {
    const first = testSeed();
    for (let seed = first; seed < first + SEEDS; seed++) {
      const again = `TEST_SEED=${seed} npm test -- test/simulation`;
      expect({ again, problems: await problemsOf(seed) }).toEqual({ again, problems: [] });
    }
  }, 3_600_000);

  it('does the same for the same seed', async () => {
    const happened = async () => {
      const world = new PushWorld(7);
      await world.run();
      return world.gateways.sends.map(({ publish, device, atMs }) => ({ publish, device, atMs }));
    };
    expect(await happened()).toEqual(await happened());
  });
});
