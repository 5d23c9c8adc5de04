import { expect, it } from 'bun:test';
import { join } from 'node:path';

it('a stop of several loops reports everybody who leaves, and does not wait for a loop that has closed', async () => {
  const script = join(import.meta.dir, 'stop.fixture.ts');
  const child = Bun.spawn([process.execPath, script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { occupied, vacated, stopMs } = Object(await new Response(child.stdout).json());
  expect({ occupied, vacated }).toEqual({ occupied: 9_000, vacated: 9_000 });
  // The clock is that of the simulation.
  expect(stopMs).toBeLessThan(1_000);
});
