import { expect, it } from 'bun:test';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { LiveCrowd } from './live-crowd.ts';

const ROUNDS = runs(2, 60);
const PUBLISHES = runs(10, 20);

/** About as many things happen to a publish of a crowd: it is accepted, asked about, received and pushed. */
const HAPPENS_OF_ONE = 15;

/** Turns of the loop that may pass after the last of them, so that the server is met doing anything. */
const TURNS_MAX = 40;

/** More than a round takes on a slow machine. */
const ROUND_MS = 120_000;

it(
  'gives every user a publish in the app, by push or both, when it is killed at any moment',
  async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using crowd = await LiveCrowd.start();
    const figures = { rounds: 0, publishes: 0 };
    // A round in which nothing was accepted proves nothing.
    for (let round = 0; figures.rounds < ROUNDS; round++) {
      await crowd.connect();
      const { server } = crowd.site;
      let left = Math.ceil(random.next() * PUBLISHES * HAPPENS_OF_ONE * 0.8);
      let turns = Math.floor(random.next() * TURNS_MAX);
      const { promise: died, resolve } = Promise.withResolvers<void>();
      const kill = () => {
        if (turns-- > 0) setImmediate(kill);
        else {
          crowd.breaks('kill');
          void server.stop('SIGKILL').then(() => resolve());
        }
      };
      crowd.happened = () => {
        if (--left === 0) kill();
      };
      await crowd.publish(PUBLISHES);
      await died;
      crowd.happened = () => undefined;
      const accepted = crowd.accepted.size;
      await crowd.site.startAgain();
      const problems = await crowd.problems();
      if (accepted === 0) continue;
      figures.rounds += 1;
      figures.publishes += accepted;
      expect({ seed, round, problems }).toEqual({ seed, round, problems: [] });
    }
    console.log(`kill -9 of live publishes: ${JSON.stringify({ seed, ...figures })}, none lost`);
  },
  ROUNDS * ROUND_MS,
);
