import type { AdminServer } from './admin-api.ts';

/** One event of an app, as the stream shows it. */
export type ShownRecord = Readonly<Record<string, unknown>> & {
  readonly n: number;
  readonly kind: string;
};

interface Batch {
  readonly events: readonly ShownRecord[];
  readonly updates: readonly { readonly n: number }[];
}

/** A user as a proxy names it. */
export interface ProxiedUser {
  readonly name: string;
  readonly groups: string;
}

/** A reader of the live stream of an app or a push instance. */
export class LiveStream implements AsyncDisposable {
  /** All records so far, completed by later events. */
  readonly records: ShownRecord[] = [];
  /** The data of all events so far, by their names. */
  readonly events = new Map<string, unknown[]>();
  /** Settles when the stream has ended. */
  readonly ended: Promise<void>;
  private readonly client: AbortController;
  private readonly waiting = new Set<() => void>();
  private isOver = false;

  private constructor(response: Response, client: AbortController) {
    this.client = client;
    this.ended = this.read(response).catch(() => undefined);
  }

  /**
   * Opens a stream; everything that happens from then on is shown. Other servers that have answered an earlier stream may begin to
   * watch the app a moment later.
   */
  static open(server: AdminServer, appId: string, query = ''): Promise<LiveStream> {
    return LiveStream.openAt(server, `/apps/${appId}/stream${query}`);
  }

  /** Opens the stream of a push instance in the same way. */
  static ofInstance(server: AdminServer, id: string, query = ''): Promise<LiveStream> {
    return LiveStream.openAt(server, `/instances/${id}/stream${query}`);
  }

  /** Opens the stream of an app as a user whom a proxy of this machine names. */
  static ofUser(server: AdminServer, appId: string, user: ProxiedUser): Promise<LiveStream> {
    return LiveStream.openAt(server, `/apps/${appId}/stream`, {
      'remote-user': user.name,
      'remote-groups': user.groups,
    });
  }

  private static async openAt(
    server: AdminServer,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<LiveStream> {
    const client = new AbortController();
    const response = await fetch(`http://127.0.0.1:${server.adminPort}/api/v1${path}`, {
      headers: { authorization: `Bearer ${server.adminPassword}`, ...headers },
      signal: client.signal,
    });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    const stream = new LiveStream(response, client);
    const nodes = server.nodes?.length ?? 1;
    await stream.until(() => stream.nodesIn('hello', 'nodes').find((one) => one.length >= nodes));
    return stream;
  }

  /** Waits for the first record, past or to come, that has these fields. */
  record(fields: Readonly<Record<string, unknown>>): Promise<ShownRecord> {
    const entries = Object.entries(fields);
    return this.until(() =>
      this.records.find((record) => entries.every(([name, value]) => record[name] === value)),
    );
  }

  /** Waits for the first event of this name whose data pass. */
  event(name: string, passes: (data: Record<string, unknown>) => boolean = () => true) {
    return this.until(() => this.events.get(name)?.find((data) => passes(Object(data))));
  }

  /** The servers that these events have named. */
  private nodesIn(...names: readonly string[]): readonly (readonly unknown[])[] {
    return names.flatMap((name) => this.events.get(name) ?? []).map((data) => Object(data).nodes);
  }

  kinds(): readonly string[] {
    return this.records.map(({ kind }) => kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.abort();
    await this.ended;
  }

  private async until<Found>(find: () => Found | undefined): Promise<Found> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.isOver) throw new Error(`The stream has ended: ${JSON.stringify(this.records)}`);
      await new Promise<void>((resolve) => this.waiting.add(resolve));
    }
  }

  private async read(response: Response): Promise<void> {
    let rest = '';
    try {
      const texts = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
      for await (const text of texts) {
        const events = `${rest}${text}`.split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events) this.take(event);
        this.wake();
      }
    } finally {
      this.isOver = true;
      this.wake();
    }
  }

  private take(text: string): void {
    const [, name = '', json = ''] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
    const data: unknown = JSON.parse(json);
    this.events.set(name, [...(this.events.get(name) ?? []), data]);
    if (name !== 'batch') return;
    const { events, updates } = data as Batch;
    this.records.push(...events);
    for (const update of updates) {
      const at = this.records.findIndex(({ n }) => n === update.n);
      const record = this.records[at];
      if (record !== undefined) this.records[at] = { ...record, ...update };
    }
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
