/** The operations that the pages use and the description of the API does not have yet. */
export interface Planned {
  'POST /session': {
    path: Record<never, string>;
    query: Record<never, string>;
    body: { password?: string; token?: string };
    answer: Session;
  };
  'GET /session': Reads<Session>;
  'DELETE /session': Reads<unknown>;
  'GET /server': Reads<ServerFacts>;
  'GET /conditions': Reads<Conditions>;
  'GET /figures': Reads<Figures> & { query: { since?: string | undefined } };
  'POST /apps/{id}/events': {
    path: { id: string };
    query: Record<never, string>;
    body: { name: string; channels: string[]; data: string; socketId?: string };
    answer: {
      channels: readonly { name: string; receivers: number | null; near: string | null }[];
    };
  };
}

interface Reads<Answer> {
  path: Record<never, string>;
  query: Record<never, string>;
  body: undefined;
  answer: Answer;
}

export interface Session {
  readonly user: string | null;
  readonly role: 'viewer' | 'support' | 'operator' | 'admin';
  readonly apps: '*' | readonly string[];
  readonly instances: '*' | readonly string[];
  readonly how: 'local' | 'password' | 'proxy';
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly threads: number;
  readonly engine: 'memory' | 'redis';
  readonly store: 'sqlite' | 'postgresql';
  readonly listeners: {
    readonly channels: Listener;
    readonly push: Listener;
    readonly admin: Listener;
  };
  readonly payloads: 'show' | 'hide';
}

export interface Conditions {
  readonly checkedAtMs: number;
  readonly checked: number;
  readonly conditions: readonly {
    readonly id: string;
    readonly level: 'bad' | 'warn';
    readonly text: string;
    readonly advice: string;
    readonly sinceMs: number;
    readonly app?: string | undefined;
    readonly instance?: string | undefined;
    readonly webhookUrl?: string | undefined;
  }[];
}

export interface Figures {
  readonly nowMs: number;
  readonly stepMs: number;
  readonly fromMs: number;
  readonly series: Readonly<
    Record<
      | 'connections'
      | 'deliveredPerSecond'
      | 'eventsPerSecond'
      | 'loopLateMs'
      | 'memoryBytes'
      | 'webhooksWaiting'
      | 'pushWaiting',
      readonly (number | null)[]
    >
  >;
}
