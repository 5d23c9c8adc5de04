import { Inbox } from '../inbox.ts';
import type { Fanfare } from '../servers/fanfare.ts';

/** One block of a stream of server-sent events: its fields as they came. */
export interface StreamedBlock {
  readonly retry?: string;
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
}

/** A reader of server-sent events of our own, so that a test sees each field as it was sent. */
export class EventReader implements AsyncDisposable {
  readonly response: Response;
  /** Settles when the stream has ended, or was broken. */
  readonly ended: Promise<'ended' | 'broken'>;
  /** The last id that it has read. */
  lastId: string | undefined;
  /** The comments that have come, which are no blocks. */
  readonly comments = new Inbox<string>('The reader');
  private readonly blocks = new Inbox<StreamedBlock>('The reader');
  private readonly abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.abort = abort;
    this.ended = this.read();
  }

  /** Opens a stream. The answer may be a refusal, which is not read. `target`: path and query. */
  static async open(
    server: Pick<Fanfare, 'port'>,
    target: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EventReader> {
    const abort = new AbortController();
    const response = await fetch(`http://127.0.0.1:${server.port}${target}`, {
      headers,
      signal: abort.signal,
    });
    if (response.status !== 200) {
      throw new Error(`${response.status} ${await response.text()}`);
    }
    return new EventReader(response, abort);
  }

  /** The next block. */
  async next(): Promise<StreamedBlock> {
    const block = await this.blocks.next();
    if (block.id !== undefined) this.lastId = block.id;
    return block;
  }

  /** The next block that has data, with what is in its frame. */
  async event(): Promise<StreamedBlock & { readonly data: string }> {
    for (;;) {
      const { data, ...block } = await this.next();
      if (data !== undefined) return { ...block, data };
    }
  }

  /** The data of the next event that a backend or a client has sent. */
  async message(): Promise<string> {
    for (;;) {
      const { event, data } = await this.event();
      if (event === undefined) return JSON.parse(data).data;
    }
  }

  /** Reads up to the confirmations of as many channels; returns the last one. */
  async confirmed(channels = 1): Promise<StreamedBlock & { readonly data: string }> {
    for (let left = channels; ; ) {
      const block = await this.event();
      if (block.data.startsWith('{"event":"pusher_internal:subscription_succeeded"')) left--;
      if (left === 0) return block;
    }
  }

  /** Goes away without another word. */
  leave(): void {
    this.abort.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave();
    await this.ended;
  }

  private async read(): Promise<'ended' | 'broken'> {
    const decoder = new TextDecoder();
    let rest = '';
    let how: 'ended' | 'broken' = 'ended';
    try {
      for await (const bytes of this.response.body ?? []) {
        rest += decoder.decode(bytes, { stream: true });
        const blocks = rest.split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          if (block.startsWith(':')) this.comments.put(block);
          else this.blocks.put(blockOf(block));
        }
      }
    } catch {
      // A test that wants to know asks `ended`.
      how = 'broken';
    }
    this.blocks.fail(new Error(`The stream has ${how}`));
    return how;
  }
}

function blockOf(text: string): StreamedBlock {
  const fields: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const [, field = '', value = ''] = /^([a-z]+): (.*)$/s.exec(line) ?? [];
    if (field === '') throw new Error(`A line is no field: ${line}`);
    if (field in fields) throw new Error(`A block has two lines "${field}": ${text}`);
    fields[field] = value;
  }
  return fields;
}
