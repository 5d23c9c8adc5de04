/**
 * A thread that only writes lines to standard error. A write may block for any time: a pipe without a reader, a stopped
 * terminal, a hanging disk. The runtime's own writes would then block their loop, or a thread of the pool that
 * everything else needs.
 */
export class LogThread implements Disposable {
  private readonly worker = new Worker(new URL('./write-log.ts', import.meta.url));

  /** Opens a port that takes text and answers each message with whether it was written. */
  openPort(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.worker.postMessage(port2, [port2]);
    return port1;
  }

  /** Ends the thread, even during a write. */
  [Symbol.dispose](): void {
    void this.worker.terminate();
  }
}
