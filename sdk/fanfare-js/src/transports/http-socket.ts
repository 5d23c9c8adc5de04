import { randomInt } from '../random.ts';
import type { Socket } from './transport-connection.ts';

/** A response that is longer goes on in a new request. The server counts the same units. */
const RESPONSE_MAX = 262_144;

/** Numbers the requests of all sockets of the page. */
let requests = 0;

const OPEN = 1;
const CLOSED = 3;

/** Runs what may throw. As of a WebSocket, the page hears of an error, and what follows is read. */
function safely(run: () => void): void {
  try {
    run();
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

/** A socket made of HTTP requests: a stream of lines from the server, or polls, beside one request at a time with what is said. */
export class HTTPSocket implements Socket {
  declare onopen: Socket['onopen'];
  declare onerror: Socket['onerror'];
  declare onclose: Socket['onclose'];
  declare onmessage: Socket['onmessage'];
  declare onactivity: Socket['onactivity'];
  /** 0: connecting. */
  readyState = 0;
  declare private readonly isStreaming: boolean;
  declare private readonly query: string;
  declare private base: string;
  private readonly aborted = new AbortController();
  private queue: string[] = [];
  declare private isSending: boolean;
  declare private isPinging: boolean;

  constructor(url: string, isStreaming: boolean) {
    const [base = '', query = ''] = url.split('?');
    const session = Array.from({ length: 8 }, () => randomInt(32).toString(32)).join('');
    this.base = `${base}/${randomInt(1000)}/${session}`;
    this.query = query;
    this.isStreaming = isStreaming;
    // Its owner listens in the same turn.
    void Promise.resolve().then(() => this.receive());
  }

  send(text: string): void {
    this.queue.push(text);
    void this.flush();
  }

  ping(): void {
    this.isPinging = true;
    void this.flush();
  }

  close(code?: number, reason?: string, wasClean = true): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.aborted.abort();
    this.onclose?.({ code, reason, wasClean });
  }

  private async post(path: string, query: string, body?: string): Promise<Response> {
    const unique = `t=${Date.now()}&n=${++requests}`;
    return await fetch(`${this.base}/${path}?${query}${unique}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      signal: this.aborted.signal,
      ...(body && { body }),
    });
  }

  /** Sends what waits, and what is said meanwhile with the next request. */
  private async flush(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    while (this.readyState === OPEN && (this.queue.length || this.isPinging)) {
      const body = JSON.stringify(this.queue);
      this.queue = [];
      this.isPinging = false;
      const answer = await this.post('xhr_send', '', body).catch(() => undefined);
      // What was said is lost, so the subscriptions may be, too.
      if (!answer?.ok) this.broken(answer?.status);
    }
    this.isSending = false;
  }

  /** Receives until the socket closes. */
  private async receive(): Promise<void> {
    const path = this.isStreaming ? 'xhr_streaming' : 'xhr';
    let isWhole = true;
    while (isWhole && this.readyState !== CLOSED) {
      let status: number | undefined;
      isWhole = false;
      try {
        const response = await this.post(path, `${this.query}&`);
        status = response.status;
        isWhole = (await this.read(response)) && status === 200;
      } catch {
        // The request broke.
      }
      if (!isWhole) this.broken(status);
    }
  }

  /** Reads the lines of a response; `true`: the next request goes on behind them. */
  private async read(response: Response): Promise<boolean> {
    const { status, body } = response;
    let text = '';
    let length = 0;
    const take = (more: string) => {
      length += more.length;
      const lines = (text + more).split('\n');
      text = lines.pop() ?? '';
      if (status === 200) for (const line of lines) this.line(line);
    };
    if (!body) {
      take(await response.text());
      return !this.isStreaming;
    }
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      take(decoder.decode(value, { stream: !done }));
      if (done) return !this.isStreaming;
      if (length > RESPONSE_MAX && !text) {
        void reader.cancel();
        return true;
      }
    }
  }

  private line(line: string): void {
    if (this.readyState === OPEN) this.onactivity?.();
    safely(() => {
      const kind = line[0] ?? '';
      // Other lines only show that the server is there.
      const data = 'oamc'.includes(kind) && JSON.parse(line.slice(1) || '0');
      if (kind === 'o') this.opened(data);
      else if (kind === 'c') this.close(data[0], data[1]);
      else if (kind === 'h' && this.isStreaming) this.ping();
      else if (data) for (const text of kind === 'a' ? data : [data]) this.message(text);
    });
  }

  private opened(data: { readonly hostname?: string }): void {
    if (this.readyState) {
      this.close(1006, 'Server lost session');
      return;
    }
    if (data.hostname) this.base = this.base.replace(/\/\/[^/:]+/, `//${data.hostname}`);
    this.readyState = OPEN;
    this.onopen?.();
  }

  private message(data: string): void {
    if (this.readyState === OPEN) safely(() => this.onmessage?.({ data }));
  }

  /** A request broke, or was answered with a wrong status. */
  private broken(status: number | undefined): void {
    this.close(1006, `Connection interrupted (${status})`, false);
  }
}
