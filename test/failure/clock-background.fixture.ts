import { jump } from './clock.fixture.ts';

/** Runs in the background thread of `clock-server.fixture.ts`, before the background loop itself. */

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<{ jumps?: true }>) => {
  if (data.jumps === true) jump();
});
