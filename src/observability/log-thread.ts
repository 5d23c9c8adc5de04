/**
 * A thread that does nothing but write lines to standard error, since that may take as long as it likes: a pipe that
 * nobody reads, a terminal that was stopped, a disk that hangs. The runtime's own ways to write either block
 * their loop then, or hold a thread of the pool that everything else needs. What it is connected to does not matter.
 */
export class LogThread implements Disposable {
  private readonly worker = new Worker(new URL('./write-log.ts', import.meta.url));

  /** Makes a port that takes text, and gives back after each whether it was written. */
  openPort(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.worker.postMessage(port2, [port2]);
    return port1;
  }

  /** Ends it, also in the middle of a write. */
  [Symbol.dispose](): void {
    void this.worker.terminate();
  }
}
