import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/*
 * How the main thread of a test server commands code that was put into its other threads: by a file. Messages of the
 * runtime would do, but a preload that listens to them makes a thread lose those that come before its own code listens.
 */

const FILE = `commands-${process.pid}`;

/** How often a thread looks for commands. Milliseconds. */
const LOOK_MS = 20;

/** Sends a command to all threads that run commands. */
export function sendCommand(text: string): void {
  appendFileSync(FILE, `${text}\n`);
}

/** Calls `run` for each command, once. */
export function onCommand(run: (text: string) => void): void {
  let done = 0;
  setInterval(() => {
    if (!existsSync(FILE)) return;
    const commands = readFileSync(FILE, 'utf8').split('\n').slice(0, -1);
    for (const text of commands.slice(done)) {
      done++;
      run(text);
    }
  }, LOOK_MS).unref();
}
