/** What the other side has said and nobody has asked for yet, and whom to tell when it says more. */
interface Heard {
  text: string;
  more: (() => void) | undefined;
}

/** A client's connection that sends what it is told to, and nothing else. */
export class RawConnection implements Disposable {
  readonly closed: Promise<void>;
  readonly localPort: number;
  readonly #socket: Bun.Socket<undefined>;
  readonly #heard: Heard;
  #open = true;

  /** Settles once connected, over TLS once the handshake is done on this side. */
  static async to(port: number, { tls = false } = {}): Promise<RawConnection> {
    const heard: Heard = { text: '', more: undefined };
    const closed = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      ...(tls ? { tls: { rejectUnauthorized: false } } : {}),
      socket: {
        open: () => {
          if (!tls) ready.resolve();
        },
        handshake: () => ready.resolve(),
        data: (_, bytes) => {
          heard.text += bytes.toString('latin1');
          heard.more?.();
        },
        close: () => closed.resolve(),
      },
    });
    await ready.promise;
    return new RawConnection(socket, heard, closed.promise);
  }

  private constructor(socket: Bun.Socket<undefined>, heard: Heard, closed: Promise<void>) {
    this.#socket = socket;
    this.#heard = heard;
    this.localPort = socket.localPort;
    this.closed = closed.then(() => {
      this.#open = false;
    });
  }

  get isOpen(): boolean {
    return this.#open;
  }

  says(text: string): void {
    this.#socket.write(text);
  }

  /** Settles once the other side has said this, and forgets all up to there. */
  async hears(text: string): Promise<void> {
    for (;;) {
      const at = this.#heard.text.indexOf(text);
      if (at >= 0) {
        this.#heard.text = this.#heard.text.slice(at + text.length);
        return;
      }
      await new Promise<void>((resolve) => {
        this.#heard.more = resolve;
      });
    }
  }

  /** Makes a request and waits for the answer, which ends with `answerEnd`. */
  async requests(answerEnd: string): Promise<void> {
    this.says('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    await this.hears(answerEnd);
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}
