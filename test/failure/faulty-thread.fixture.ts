import { onCommand } from './thread-commands.fixture.ts';

/** Runs in the threads of the loops of `faulty-server.fixture.ts`, before the loop itself. */

/** Longer than a start takes before the server logs what it waits for. */
const LATE_MS = 6000;

const { FAULT, FAULTY_LOOP } = process.env;
if (FAULT === `${FAULTY_LOOP} starts late`) Bun.sleepSync(LATE_MS);
if (FAULT === `${FAULTY_LOOP} answers late`) {
  const { postMessage } = globalThis;
  globalThis.postMessage = (message: { type: string }) => {
    if (message.type === 'listening-noted') Bun.sleepSync(LATE_MS);
    postMessage(message);
  };
}

onCommand((text) => {
  const [loop, fault] = text.split(' ');
  if (loop !== FAULTY_LOOP) return;
  if (fault === 'hangs') for (;;) Bun.sleepSync(1000);
  if (fault === 'throws') throw new Error('a fault of the test');
  if (fault === 'rejects') void Promise.reject(new Error('a fault of the test'));
});
