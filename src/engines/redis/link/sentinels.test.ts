import { describe, expect, it } from 'bun:test';
import { RedisAway, RedisRefused, type Reply } from './reply.ts';
import { findPrimary } from './sentinels.ts';

/** What each sentinel answers; `undefined`: it cannot be reached. */
function ask(answers: readonly (Reply | RedisRefused | undefined)[]) {
  return findPrimary({
    endpoints: answers.map((_, index) => ({ host: 'sentinel', port: index })),
    name: 'main',
    ask: async ({ port }) => {
      const answer = answers[port];
      if (answer === undefined) throw new Error('ECONNREFUSED');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
}

const names = (ip: string, epoch: number) =>
  ['name', 'main', 'ip', ip, 'port', '6379', 'config-epoch', String(epoch)] as Reply;

describe('the primary that sentinels name', () => {
  it('is the one of the latest failover', async () => {
    const primary = await ask([names('10.0.0.1', 3), names('10.0.0.2', 4), names('10.0.0.1', 3)]);
    expect(primary).toEqual({ host: '10.0.0.2', port: 6379 });
  });

  it('is found although some sentinels do not answer', async () => {
    const primary = await ask([undefined, [], names('10.0.0.1', 3)]);
    expect(primary).toEqual({ host: '10.0.0.1', port: 6379 });
  });

  it('is unknown if none answers', async () => {
    const failure = await ask([undefined, undefined]).catch((error) => error);
    expect(failure.message).toBe('no sentinel knows the primary main: ECONNREFUSED; ECONNREFUSED');
  });

  it.each([
    ['all of them', [new RedisRefused('sentinel:0 knows no primary of this name')], RedisRefused],
    ['some of them', [undefined, new RedisRefused('sentinel:1 wants a password')], RedisAway],
  ])('is refused for good only if %s refuse', async (_, answers, kind) => {
    expect(await ask(answers).catch((error) => error)).toBeInstanceOf(kind);
  });
});
