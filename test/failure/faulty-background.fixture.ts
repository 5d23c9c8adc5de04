/** Runs in the background thread of `faulty-server.fixture.ts`, before the background loop itself. */

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<{ fault?: string }>) => {
  if (data.fault === 'throws') throw new Error('a fault of the test');
  if (data.fault === 'rejects') void Promise.reject(new Error('a fault of the test'));
});
