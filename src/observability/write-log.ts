import { writeSync } from 'node:fs';

/** Runs in the log thread: writes what each port gives it to standard error. */

declare const self: Worker;

const STANDARD_ERROR = 2;

/** The pause where a full pipe does not block, since another program has set it so. */
const FULL_MS = 20;

self.onmessage = ({ data: port }: MessageEvent<MessagePort>) => {
  port.onmessage = ({ data }: { readonly data: string }) => port.postMessage(writeAll(data));
};

/** Whether all of it was written. */
function writeAll(text: string): boolean {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STANDARD_ERROR, bytes, at);
    } catch (error) {
      // Anything else, such as a pipe that nobody holds or a full disk, the server goes on without.
      if (!isFull(error)) return false;
      Bun.sleepSync(FULL_MS);
    }
  }
  return true;
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
