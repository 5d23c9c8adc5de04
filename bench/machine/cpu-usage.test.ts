import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { watchCpu } from './cpu-usage.ts';

/** A child that does nothing but use a core, seen from when it starts until it has used it for a while. */
async function whileAnotherWorks<Seen>(watch: (pid: number) => () => Seen): Promise<Seen> {
  const child = Bun.spawn(['sh', '-c', 'while :; do :; done']);
  try {
    const seen = watch(child.pid);
    const used = () => Number(readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ')[13]);
    while (used() < 10) await new Promise(setImmediate);
    return seen();
  } finally {
    child.kill();
    await child.exited;
  }
}

it('distinguishes the usage of other processes from that of the server', async () => {
  const beside = await whileAnotherWorks(() =>
    watchCpu({ server: process.pid, load: process.pid }),
  );
  expect(beside.others).toBeGreaterThan(0);

  const itself = await whileAnotherWorks((pid) => watchCpu({ server: pid, load: process.pid }));
  expect(itself.server).toBeGreaterThan(0);
});
