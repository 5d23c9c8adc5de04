import { describe, expect, it } from 'bun:test';
import { FakeClock } from '../../../../channels/hub.fixture.ts';
import type { RedisProcess } from '../check-server.ts';
import { RedisAway, type Reply } from '../reply.ts';
import { HandOvers } from './hand-over.ts';

const NEVER = '0'.repeat(40);

const process = (id: string, formerDataId: string): RedisProcess => ({
  id,
  dataId: `data of ${id}`,
  formerDataId,
  ageSeconds: 1_000,
  timeMicroseconds: 0,
});

const FORMER = process('a', NEVER);
const PROMOTED = process('b', 'data of a');
const BEFORE = { process: FORMER, endpoint: { host: 'a', port: 6379 } };

/** What a former master says of itself. */
const info = (role: string, dataId: string, formerDataId: string, id = 'a') =>
  [
    '# Replication',
    `run_id:${id}`,
    `role:${role}`,
    `master_replid:${dataId}`,
    `master_replid2:${formerDataId}`,
  ].join('\r\n');

const CONTINUED = info('slave', 'data of b', 'data of a');
const COPIED = info('slave', 'data of b', NEVER);

/** A former master gives these answers, one after the other; after the last one, it is silent. */
function open(...answers: readonly (Reply | Error)[]) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const handOvers = new HandOvers({
    timers: clock,
    ask: ({ host }, command) => {
      const answer = answers[asked.length];
      asked.push(`${host} ${command.join(' ')}`);
      if (answer instanceof Error) return Promise.reject(answer);
      return answer === undefined ? new Promise(() => undefined) : Promise.resolve(answer);
    },
  });
  /** Asks, and lets time pass until there is an answer. */
  const isComplete = async (now = PROMOTED, before = BEFORE) => {
    let answer: boolean | undefined;
    void handOvers.isComplete(before, now).then((one) => {
      answer = one;
    });
    for (let n = 0; n < 100 && answer === undefined; n++) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(50);
    }
    return answer;
  };
  return { handOvers, isComplete, asked, clock };
}

describe('a promoted replica', () => {
  it('has everything if its former master continues as its replica', async () => {
    const { isComplete, asked } = open(
      info('master', 'data of a', NEVER),
      info('slave', 'data of a', NEVER),
      CONTINUED,
    );
    expect(await isComplete()).toBe(true);
    expect(asked).toEqual(['a INFO', 'a INFO', 'a INFO']);
  });

  it('may lack writes if its former master needs a full copy', async () => {
    expect(await open(COPIED).isComplete()).toBe(false);
  });

  it('may lack writes if its former master was restarted, is gone or is silent', async () => {
    const restarted = info('slave', 'data of b', 'data of a', 'a again');
    expect(await open(restarted).isComplete()).toBe(false);
    expect(await open(new RedisAway('closed', false)).isComplete()).toBe(false);
    expect(await open().isComplete()).toBe(false);
    const master = info('master', 'data of a', NEVER);
    expect(await open(null, master).isComplete()).toBe(false);
    expect(await open(...Array(1_000).fill(master)).isComplete()).toBe(false);
  });

  it('is not asked about where it does not come from that master', async () => {
    const { isComplete, asked } = open(CONTINUED);
    expect(await isComplete(process('b', 'data of c'))).toBe(false);
    expect(await isComplete(process('b', NEVER))).toBe(false);
    const nameless = { ...FORMER, dataId: '' };
    expect(await isComplete(process('b', ''), { ...BEFORE, process: nameless })).toBe(false);
    expect(asked).toEqual([]);
  });

  it('is asked about once for all slots', async () => {
    const { handOvers, isComplete, asked } = open(CONTINUED);
    const both = [isComplete(), handOvers.isComplete(BEFORE, PROMOTED)];
    expect(await Promise.all(both)).toEqual([true, true]);
    expect(await isComplete()).toBe(true);
    expect(asked).toEqual(['a INFO']);
  });
});
