/** Runs in the threads of the loops of `faulty-server.fixture.ts`, before the loop itself. */

interface Fault {
  readonly loop: string;
  readonly fault: string;
}

const faults = new BroadcastChannel('faults');
faults.unref();

faults.onmessage = (message) => {
  const data = message.data as Fault;
  if (data.loop !== process.env['FAULTY_LOOP']) return;
  if (data.fault === 'hangs') for (;;) Bun.sleepSync(1000);
  if (data.fault === 'throws') throw new Error('a fault of the test');
  if (data.fault === 'rejects') void Promise.reject(new Error('a fault of the test'));
};
