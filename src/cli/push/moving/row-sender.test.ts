import { expect, it } from 'bun:test';
import { RowSender } from './row-sender.ts';

it('ends with what a request has failed with, although others went well after it', async () => {
  let asked = 0;
  const sender = new RowSender({
    backend: {
      async ask() {
        if (++asked === 1) throw new Error('refused');
        return { results: [] };
      },
    },
    name: 'a',
    isDryRun: false,
    rowsPerSecond: Number.POSITIVE_INFINITY,
    onResult: () => undefined,
  });
  const addAll = async () => {
    for (let number = 1; number <= 2_500; number++) await sender.add(number, { token: 't' });
    await sender.end();
  };
  await expect(addAll()).rejects.toThrow('refused');
  // Nothing is sent after that.
  expect(asked).toBeLessThan(3);
});
