import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchApp } from '../bench-app.ts';
import type { FanfareServer } from '../servers.ts';

const TRIES_MAX = 100;
const TRY_AGAIN_MS = 50;

/** The limit of streams per app. */
const STREAMS_PER_APP = 4;

/** Readers of a server's live streams, as fast as possible. */
export class Watchers implements AsyncDisposable {
  private readonly api: string;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly client = new AbortController();
  private readonly reading: Promise<void>[] = [];
  /** Bytes that all have read. */
  bytes = 0;

  private constructor({ adminPort, storeFile }: FanfareServer) {
    this.api = `http://127.0.0.1:${adminPort}/api/v1`;
    const password = readFileSync(`${storeFile}.admin-password`, 'utf8').trim();
    this.headers = { authorization: `Bearer ${password}` };
  }

  /** Opens `count` streams: up to four of the loaded app, the others of an app without events. */
  static async open(server: FanfareServer, count: number): Promise<Watchers> {
    const watchers = new Watchers(server);
    for (let n = 0; n < Math.min(count, STREAMS_PER_APP); n++) await watchers.watch(benchApp.id);
    if (count > STREAMS_PER_APP) {
      const other = await watchers.otherApp();
      for (let n = STREAMS_PER_APP; n < count; n++) await watchers.watch(other);
    }
    return watchers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.abort();
    await Promise.allSettled(this.reading);
  }

  private async watch(appId: string): Promise<void> {
    const { signal } = this.client;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const response = await fetch(`${this.api}/apps/${appId}/stream`, {
        headers: this.headers,
        signal,
      });
      if (response.ok && response.body !== null) {
        this.reading.push(this.read(response.body));
        return;
      }
      // The streams of the previous round are still being closed.
      await sleep(TRY_AGAIN_MS);
    }
    throw new Error('No live stream could be opened');
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    for await (const bytes of body) this.bytes += bytes.length;
  }

  private async otherApp(): Promise<string> {
    const headers = { ...this.headers, 'content-type': 'application/json' };
    const listed = await fetch(`${this.api}/apps`, { headers });
    const { apps } = (await listed.json()) as { readonly apps: readonly { readonly id: string }[] };
    const known = apps.find(({ id }) => id !== benchApp.id);
    if (known !== undefined) return known.id;
    const made = await fetch(`${this.api}/apps`, { method: 'POST', headers, body: '{}' });
    return ((await made.json()) as { readonly id: string }).id;
  }
}
