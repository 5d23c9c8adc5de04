import type { Closed } from './closed.ts';

/** The HTTP transports of pusher-js, by the names that it gives them. */
export type FallbackTransportName = 'xhr_streaming' | 'xhr_polling';

/** After a line that makes a response longer than this, pusher-js asks anew. UTF-16 units. */
const STREAM_UNITS = 262_144;

export interface FallbackCarrierOptions {
  readonly port: number;
  readonly transport: FallbackTransportName;
  /** As in the path of a WebSocket: `/app/KEY`, perhaps behind a prefix. */
  readonly path: string;
  readonly query: string;
  /** The session; one of its own if there is none. */
  readonly session?: string;
  readonly received: (frame: string) => void;
  readonly closed: (closed: Closed) => void;
}

/** Carries the messages of a client as pusher-js does where it has no WebSocket, with requests of its own. */
export class FallbackCarrier {
  private readonly options: FallbackCarrierOptions;
  private readonly base: string;
  private readonly abort = new AbortController();
  private requests = 0;
  private isOver = false;
  private sending: Promise<unknown> = Promise.resolve();

  constructor(options: FallbackCarrierOptions) {
    this.options = options;
    const { port, path, session } = options;
    const drawn = session ?? crypto.randomUUID().replaceAll('-', '').slice(0, 8);
    const ofFallback = path.replace(/\/app\/(?=[^/]*$)/, '/pusher/app/');
    this.base = `http://127.0.0.1:${port}${ofFallback}/${Math.floor(Math.random() * 1000)}/${drawn}`;
    void this.receive();
  }

  /** Sends messages one after the other. */
  send(...messages: readonly string[]): void {
    const url = `${this.base}/xhr_send?t=${Date.now()}&n=${++this.requests}`;
    this.sending = this.sending
      .then(() => this.post(url, JSON.stringify(messages)))
      .catch(() => undefined);
  }

  /** Leaves, and waits until the server has forgotten the session. */
  async leave(): Promise<void> {
    await this.sending;
    await this.terminate({ code: 1000, reason: '' });
    const url = `${this.base}/xhr_send`;
    while ((await fetch(url, { method: 'POST', body: '[]' })).status !== 404);
  }

  /** Leaves as a closed page does. */
  async terminate(closed: Closed = { code: undefined, reason: '' }): Promise<void> {
    // Between two polls nobody would see it go, for 10 s: by the answer to this, the next poll has arrived.
    await fetch(`${this.base}/xhr_send`, { method: 'OPTIONS' }).catch(() => undefined);
    this.over(closed);
    this.abort.abort();
  }

  private async receive(): Promise<void> {
    const { transport, query } = this.options;
    const end = transport === 'xhr_streaming' ? 'xhr_streaming' : 'xhr';
    try {
      while (!this.isOver) {
        const url = `${this.base}/${end}?${query}&t=${Date.now()}&n=${++this.requests}`;
        const response = await this.post(url, '');
        const ended = response.status === 200 ? await this.read(response) : 'refused';
        // A stream that ends without a line that says so is a broken connection.
        if (ended !== (transport === 'xhr_streaming' ? 'reopen' : 'ended')) {
          this.over({ code: undefined, reason: '' });
        }
      }
    } catch {
      // Aborted, or the server is gone.
      this.over({ code: undefined, reason: '' });
    }
  }

  private post(url: string, body: string): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: this.abort.signal,
    });
  }

  private async read({ body }: Response): Promise<'ended' | 'reopen'> {
    const decoder = new TextDecoder();
    let units = 0;
    let rest = '';
    for await (const bytes of body ?? []) {
      const text = decoder.decode(bytes, { stream: true });
      units += text.length;
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.handle(line);
      // Leaving the loop cancels the request, as the client does.
      if (rest === '' && units > STREAM_UNITS) return 'reopen';
    }
    return 'ended';
  }

  private handle(line: string): void {
    if (this.isOver) return;
    if (line.startsWith('a')) {
      const frames: readonly string[] = JSON.parse(line.slice(1));
      for (const frame of frames) this.options.received(frame);
    } else if (line.startsWith('c')) {
      const [code, reason]: [number, string] = JSON.parse(line.slice(1));
      this.over({ code, reason });
    } else if (line !== 'o') {
      throw new Error(`An unknown line: ${line}`);
    }
  }

  private over(closed: Closed): void {
    if (this.isOver) return;
    this.isOver = true;
    this.options.closed(closed);
  }
}
