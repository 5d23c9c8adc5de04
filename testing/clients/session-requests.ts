import { APP, type Fanfare } from '../servers/fanfare.ts';
import { Waiting } from './waiting.ts';

/** The query of a receive request, as pusher-js sends it. */
export const RECEIVE_QUERY = 'protocol=7&client=js&version=8.6.0';

export interface SessionOptions {
  readonly key?: string;
  readonly session?: string;
  /** In front of `/app`. */
  readonly prefix?: string;
  readonly query?: string;
}

/** The requests of one session, byte by byte. */
export class SessionRequests {
  readonly base: string;
  private readonly query: string;
  private requests = 0;

  constructor(server: Pick<Fanfare, 'port'>, options: SessionOptions = {}) {
    const { key = APP.key, prefix = '/pusher', query = RECEIVE_QUERY } = options;
    const session = options.session ?? crypto.randomUUID().replaceAll('-', '').slice(0, 8);
    this.base = `http://127.0.0.1:${server.port}${prefix}/app/${key}/606/${session}`;
    this.query = query;
  }

  /** The number of the last request. */
  get lastNumber(): number {
    return this.requests;
  }

  /** Leaves a number to a request that comes later. */
  skip(): number {
    return ++this.requests;
  }

  /** Asks by `xhr_streaming`. */
  async stream(): Promise<StreamedLines> {
    const abort = new AbortController();
    const response = await this.post('xhr_streaming', `${this.query}&`, '', abort.signal);
    return new StreamedLines(response, abort);
  }

  /** Asks by `xhr`, and reads the answer. */
  async poll(signal?: AbortSignal): Promise<{ status: number; text: string; headers: Headers }> {
    const response = await this.post('xhr', `${this.query}&`, '', signal);
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  /** Polls until the session is open; returns the socket id. */
  async pollOpen(): Promise<string> {
    const first = await this.poll();
    if (first.text !== 'o\n') throw new Error(`Not opened: ${first.text}`);
    return socketIdOf(messagesOf((await this.poll()).text)[0]);
  }

  /** Sends messages; returns the status. */
  async send(...messages: readonly (object | string)[]): Promise<number> {
    const texts = messages.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    return (await this.sendBody(JSON.stringify(texts))).status;
  }

  sendBody(body: string | Uint8Array<ArrayBuffer>, number = ++this.requests): Promise<Response> {
    return fetch(`${this.base}/xhr_send?t=${Date.now()}&n=${number}`, { method: 'POST', body });
  }

  private post(end: string, query: string, body: string, signal?: AbortSignal): Promise<Response> {
    const number = ++this.requests;
    return fetch(`${this.base}/${end}?${query}t=${Date.now()}&n=${number}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      ...(signal && { signal }),
    });
  }
}

/** The lines of a response as they arrive. */
export class StreamedLines implements Disposable {
  readonly response: Response;
  readonly lines: string[] = [];
  /** Every character so far. */
  text = '';
  isOver = false;
  private readonly abort: AbortController;
  private readonly waiting = new Waiting();

  constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.abort = abort;
    void this.read();
  }

  /** Waits for the next line that was not taken yet. */
  async line(): Promise<string> {
    await this.waiting.until(() => this.lines.length > 0 || this.isOver, 'a line');
    const line = this.lines.shift();
    if (line === undefined) throw new Error('The response ended instead of a line');
    return line;
  }

  /** Waits for a line of messages, and returns these. */
  async messages(): Promise<readonly Message[]> {
    return messagesOf(await this.line());
  }

  /** Reads what opens a session; returns the socket id. */
  async opens(): Promise<string> {
    if ((await this.line()) !== 'o') throw new Error('Not opened');
    return socketIdOf((await this.messages())[0]);
  }

  async ended(): Promise<void> {
    await this.waiting.until(() => this.isOver, 'the end of the response');
  }

  /** Breaks the request, as a page that is left does. */
  break(): void {
    this.abort.abort();
  }

  [Symbol.dispose](): void {
    this.break();
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const bytes of this.response.body ?? []) {
        const text = decoder.decode(bytes, { stream: true });
        this.text += text;
        const lines = `${rest}${text}`.split('\n');
        rest = lines.pop() ?? '';
        this.lines.push(...lines);
        this.waiting.wake();
      }
    } catch {
      // Broken by one of both sides.
    }
    this.isOver = true;
    this.waiting.wake();
  }
}

export interface Message {
  readonly event: string;
  readonly channel?: string;
  readonly data?: string;
}

/** The messages of a line, with or without its line feed. */
export function messagesOf(line: string): readonly Message[] {
  if (!line.startsWith('a')) throw new Error(`No line of messages: ${line}`);
  const texts: readonly string[] = JSON.parse(line.slice(1));
  return texts.map((text) => JSON.parse(text));
}

function socketIdOf(message: Message | undefined): string {
  if (message?.event !== 'pusher:connection_established') {
    throw new Error(`Not established: ${JSON.stringify(message)}`);
  }
  return JSON.parse(message.data ?? '{}').socket_id;
}
