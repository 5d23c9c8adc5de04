/** Runs in every thread of `faulty-server.fixture.ts` but the main one, before the loop itself. */

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<{ fault?: string }>) => {
  if (data.fault === 'hangs') for (;;) Bun.sleepSync(1000);
  if (data.fault === 'throws') throw new Error('a fault of the test');
  if (data.fault === 'rejects') void Promise.reject(new Error('a fault of the test'));
});
