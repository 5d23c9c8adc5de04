import { recordOf } from '../../doctor/client/client-messages.ts';
import { ask } from '../../doctor/client/http-exchange.ts';
import type { Destination } from '../../doctor/client/link.ts';
import { type Credentials, signedTarget } from '../../doctor/client/signed-request.ts';
import { type Recorder, recorded } from './recorder.ts';

/** Requests that may be under way at a time. */
const REQUESTS_MAX = 4;
const EVENT = 'verify';
const HEADERS = { 'User-Agent': 'fanfare-verify' };

/** An event as it is triggered. */
export interface Triggered {
  readonly e: string;
  readonly channels: readonly string[];
  /** The socket that must not get it. */
  readonly except?: string | undefined;
  readonly key?: string;
}

/** What a backend and clients have in common. */
export interface Shared {
  readonly credentials: Credentials;
  readonly timeoutMs: number;
  readonly recorder: Recorder;
}

interface BackendOptions extends Shared {
  /** Requests take turns. */
  readonly to: readonly Destination[];
  /** Called when the server answers that the app may not send any more. */
  readonly onForbidden: (answer: string) => void;
}

/** Triggers events as a backend does, and writes down the answers. */
export class Backend {
  private readonly options: BackendOptions;
  private underWay = 0;
  private turn = 0;
  private batches = 0;

  constructor(options: BackendOptions) {
    this.options = options;
  }

  get isBusy(): boolean {
    return this.underWay >= REQUESTS_MAX;
  }

  get isIdle(): boolean {
    return this.underWay === 0;
  }

  /** Triggers one event. With a key, it does so twice, as a backend that did not get the answer. */
  async trigger({ e, channels, except, key }: Triggered): Promise<void> {
    const { recorder } = this.options;
    const data = JSON.stringify({ e });
    const body = { name: EVENT, channels, data, socket_id: except, idempotency_key: key };
    for (let time = 0; time < (key === undefined ? 1 : 2); time++) {
      recorder.add('trigger', { e, ch: channels, except, key });
      const { status, answer } = await this.call('POST', 'events', body);
      recorder.add('answer', { e, status, ids: textsOf(answer?.['event_ids']) });
    }
  }

  /** Triggers events of one channel by one request. */
  async triggerBatch(events: readonly string[], channel: string): Promise<void> {
    const { recorder } = this.options;
    const batch = ++this.batches;
    for (const e of events) recorder.add('trigger', { e, ch: [channel], batch });
    const { status, answer } = await this.call('POST', 'batch_events', {
      batch: events.map((e) => ({ name: EVENT, channel, data: JSON.stringify({ e }) })),
    });
    const given = listOf(answer?.['batch']);
    for (const [at, e] of events.entries()) {
      const ids = textsOf({ [channel]: recordOf(given[at])?.['event_id'] });
      recorder.add('answer', { e, status, ids });
    }
  }

  /** Asks who is in a presence channel. */
  async askUsers(channel: string): Promise<void> {
    const { status, answer } = await this.call('GET', `channels/${channel}/users`);
    const users = listOf(answer?.['users']).map((user) => recorded(String(recordOf(user)?.['id'])));
    this.options.recorder.add('users', { ch: channel, status, users });
  }

  /** Sends a request. The status is 0 if there was no answer. */
  private async call(
    method: 'GET' | 'POST',
    resource: string,
    content?: object,
  ): Promise<{ readonly status: number; readonly answer: ReturnType<typeof recordOf> }> {
    const { to: all, credentials, timeoutMs, onForbidden } = this.options;
    const to = all[this.turn++ % all.length];
    if (to === undefined) throw new Error('There is no address');
    const path = `/apps/${credentials.appId}/${resource}`;
    const body = content === undefined ? {} : { body: JSON.stringify(content) };
    const request = { method, path, ...body };
    const target = signedTarget(credentials, request, to.endpoint.prefix, Date.now());
    this.underWay++;
    const result = await ask(to, { method, target, headers: HEADERS, ...body }, timeoutMs);
    this.underWay--;
    if (result.kind !== 'answer') return { status: 0, answer: undefined };
    if (result.status === 403) onForbidden(result.body);
    return { status: result.status, answer: recordOf(result.body) };
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The texts of an object, or `undefined` if it has none. */
function textsOf(value: unknown): Readonly<Record<string, string>> | undefined {
  const entries = Object.entries(recordOf(value) ?? {});
  const texts = entries.flatMap(([name, text]) =>
    typeof text === 'string' ? [[recorded(name), recorded(text)] as const] : [],
  );
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}
