import { describe, expect, it } from 'bun:test';
import { findProblems } from './push-checks.ts';
import { PushWorld } from './push-world.ts';

/** Of one seed, to look into what it does: `FANFARE_SEED=12345`. */
const onlySeed = process.env['FANFARE_SEED'];

const seedsAtOnce = Number(process.env['FANFARE_SEEDS'] ?? 2_000);

async function problemsOf(seed: number): Promise<readonly string[]> {
  const world = new PushWorld(seed);
  await world.run();
  return findProblems(world);
}

describe('the delivery pipeline', () => {
  it('accounts for each device once, whatever fails and whoever dies', async () => {
    const first = onlySeed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(onlySeed);
    const count = onlySeed === undefined ? seedsAtOnce : 1;
    for (let seed = first; seed < first + count; seed++) {
      const problems = await problemsOf(seed);
      expect({ seed, run: `FANFARE_SEED=${seed}`, problems }).toEqual({
        seed,
        run: `FANFARE_SEED=${seed}`,
        problems: [],
      });
    }
  }, 240_000);

  it('does the same for the same seed', async () => {
    const happened = async () => {
      const world = new PushWorld(7);
      await world.run();
      return world.gateways.sends.map(({ publish, device, atMs }) => ({ publish, device, atMs }));
    };
    expect(await happened()).toEqual(await happened());
  });
});
