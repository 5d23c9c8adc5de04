import { recordOf } from '../../../src/doctor/client/client-messages.ts';
import { signedTarget } from '../../../src/doctor/client/signed-request.ts';
import { ClientRequest } from '../network/client-request.ts';
import { type ClientWorld, EVENT } from './crowd-member.ts';

/** How long it waits for an answer. Milliseconds. */
const TIMEOUT_MS = 10_000;

/** An event as it is triggered. */
export interface Triggered {
  readonly e: string;
  readonly channels: readonly string[];
  /** The socket that must not get it. */
  readonly except?: string | undefined;
  readonly key?: string | undefined;
  /** Makes its data longer. Characters. */
  readonly padding?: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Triggers events as a backend does, and writes down the answers. */
export class Backend {
  private readonly world: ClientWorld;
  private batches = 0;
  private losses = 0;
  private underWay = 0;

  constructor(world: ClientWorld) {
    this.world = world;
  }

  get isIdle(): boolean {
    return this.underWay === 0;
  }

  /** Redis has lost its data. */
  dataLost(): void {
    this.losses++;
  }

  /** Triggers one event. With a key, it does so twice, as a backend that did not get the answer. */
  async trigger({ e, channels, except, key, padding = 0 }: Triggered): Promise<void> {
    const { recorder } = this.world;
    const body = {
      name: EVENT,
      channels,
      data: JSON.stringify({ e, ...(padding === 0 ? {} : { padding: 'x'.repeat(padding) }) }),
      ...(except === undefined ? {} : { socket_id: except }),
      ...(key === undefined ? {} : { idempotency_key: key }),
    };
    const { losses } = this;
    for (let time = 0; time < (key === undefined ? 1 : 2); time++) {
      // Its key is lost as well: it would be another event.
      if (this.losses !== losses) return;
      recorder.add('trigger', {
        e,
        ch: channels,
        ...(except === undefined ? {} : { except }),
        ...(key === undefined ? {} : { key }),
      });
      const { status, text } = await this.call('POST', 'events', body);
      const ids = textsOf(recordOf(text)?.['event_ids']);
      recorder.add('answer', { e, status, ...(ids === undefined ? {} : { ids }) });
    }
  }

  /** Triggers events of one channel by one request. */
  async triggerBatch(events: readonly string[], channel: string): Promise<void> {
    const { recorder } = this.world;
    const batch = ++this.batches;
    for (const e of events) recorder.add('trigger', { e, ch: [channel], batch });
    const { status, text } = await this.call('POST', 'batch_events', {
      batch: events.map((e) => ({ name: EVENT, channel, data: JSON.stringify({ e }) })),
    });
    const answer = recordOf(text)?.['batch'];
    const given: readonly unknown[] = Array.isArray(answer) ? answer : [];
    for (const [at, e] of events.entries()) {
      const id = recordOf(given[at])?.['event_id'];
      const ids = typeof id === 'string' ? { ids: { [channel]: id } } : {};
      recorder.add('answer', { e, status, ...ids });
    }
  }

  /** Asks who is in a presence channel. */
  async askUsers(channel: string): Promise<void> {
    const { status, text } = await this.call('GET', `channels/${channel}/users`);
    const answer = recordOf(text)?.['users'];
    const given: readonly unknown[] = Array.isArray(answer) ? answer : [];
    const users = given.map((user) => String(recordOf(user)?.['id']));
    this.world.recorder.add('users', { ch: channel, status, users });
  }

  private async call(method: 'GET' | 'POST', resource: string, content?: object): Promise<Answer> {
    const { host, credentials } = this.world;
    const path = `/apps/${credentials.appId}/${resource}`;
    const body = content === undefined ? undefined : JSON.stringify(content);
    const signed = { method, path, ...(body === undefined ? {} : { body }) };
    const target = signedTarget(credentials, signed, '', Date.now());
    this.underWay++;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const headers = { 'content-type': 'application/json' };
    const request = new ClientRequest(
      host,
      { method, target, headers, body },
      { ended: (status, text) => resolve({ status, text }) },
    );
    const timeout = setTimeout(() => {
      request.abort();
      resolve({ status: 0, text: '' });
    }, TIMEOUT_MS);
    const answer = await promise;
    clearTimeout(timeout);
    this.underWay--;
    return answer;
  }
}

function textsOf(value: unknown): Readonly<Record<string, string>> | undefined {
  const texts = Object.entries(recordOf(value) ?? {}).flatMap(([name, text]) =>
    typeof text === 'string' ? [[name, text] as const] : [],
  );
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}
