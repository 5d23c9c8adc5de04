import { expect } from 'bun:test';
import { createContext, Script } from 'node:vm';
import { serviceWorkerScript } from './service-worker.ts';

export const ENDPOINT = 'https://push.example.org';
const NOW_MS = 1_700_000_000_999;

export const PUSHER = {
  instanceId: '0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69',
  publishId: 'pubid-1',
  hasDisplayableContent: true,
  hasData: true,
};

export const NOTIFICATION = { title: 'Hi!', body: 'All of it', icon: '/icon.png' };

/** What the SDK in the page has stored. */
export const DEVICE = {
  instance_id: PUSHER.instanceId,
  device_id: 'web-1',
  token: 'eyJ9',
  user_id: 'ann',
};

interface Window {
  readonly url: string;
  readonly focused?: boolean;
  readonly visibilityState?: 'visible' | 'hidden';
}

export interface Hooked {
  readonly payload: { notification: { title: string; [name: string]: unknown }; data: object };
  readonly pushEvent: object;
  readonly handleNotification: (payload: object) => Promise<void>;
  readonly statePromise: Promise<unknown>;
}

interface Beams {
  endpointOverride: string | null;
  onNotificationReceived: ((hooked: Hooked) => unknown) | null;
  reportEvent(report: { eventType: string; state: object }): Promise<void>;
}

interface Shown {
  readonly title: string;
  readonly options: {
    readonly data: { readonly pusher: object };
    readonly [name: string]: unknown;
  };
}

/** What the SDK has stored in one database. */
type StoredDevice = Readonly<Record<string, string | null>>;

interface WorkerOptions {
  readonly device?: typeof DEVICE | 'none' | 'broken';
  /** The databases of the site, by the instances in their names. Empty: those of `device`. */
  readonly devices?: Readonly<Record<string, StoredDevice>>;
  readonly subscription?: FakeSubscription;
  readonly badges?: 'none' | 'silent';
  /** Whether the timers of the worker end at once; else never. */
  readonly now?: boolean;
  readonly windows?: readonly Window[];
  /** What the worker has sent of the browser before. By default what it would send now, so that it sends nothing. */
  readonly sent?: SentPreferences | 'nothing';
  readonly answer?: (url: string) => Promise<Response>;
}

/** What the worker keeps of what it has sent. */
type SentPreferences = Readonly<Record<'language' | 'timeZone', string>>;

export const BROWSER: SentPreferences = { language: 'pt-BR', timeZone: 'America/Sao_Paulo' };

/** What the browser makes if the worker subscribes. */
export const NEW_SUBSCRIPTION: FakeSubscription = { endpoint: 'https://push.example/new' };

/** A push subscription, as far as the worker uses it. */
export interface FakeSubscription {
  readonly endpoint: string;
  readonly options?: { readonly applicationServerKey: ArrayBuffer };
}

/** A request to IndexedDB that settles in a microtask, after the caller has set its callbacks. */
function settledSoon(result: unknown, before?: 'onupgradeneeded', error?: Error): object {
  const request: Record<string, unknown> = { result, error };
  queueMicrotask(() => {
    for (const name of [before, error === undefined ? 'onsuccess' : 'onerror']) {
      if (name !== undefined) (request[name] as () => void)();
    }
  });
  return request;
}

/** The worker in a simulated browser, and what it does there. */
export class BeamsWorker {
  readonly shown: Shown[] = [];
  readonly reports: { readonly url: string; readonly body: unknown }[] = [];
  /** The other requests. */
  readonly requests: { readonly method: string; readonly url: string; readonly body: unknown }[] =
    [];
  readonly badges: (number | 'cleared')[] = [];
  readonly subscribed: object[] = [];
  /** What is stored of each instance. */
  readonly stored: Record<string, StoredDevice>;
  readonly opened: string[] = [];
  readonly focused: string[] = [];
  readonly stores: unknown[] = [];
  readonly warnings: unknown[][] = [];
  readonly beams: Beams;
  databasesOpen = 0;
  /** What the worker has sent of each device. */
  readonly sent = new Map<unknown, object>();
  private readonly sentBefore: SentPreferences | undefined;
  private readonly listeners = new Map<string, (event: object) => void>();

  constructor(options: WorkerOptions = {}, endpoint = ENDPOINT) {
    const { windows = [], answer = async () => Response.json({}) } = options;
    const { devices, device = DEVICE, subscription, badges, now = false } = options;
    const { sent = BROWSER } = options;
    this.sentBefore = sent === 'nothing' ? undefined : sent;
    this.stored = {
      ...(devices ?? (typeof device === 'object' && { [PUSHER.instanceId]: device })),
    };
    const self: Record<string, unknown> = {
      URL,
      AbortSignal,
      Date: { now: () => NOW_MS },
      atob,
      btoa,
      setTimeout: (end: () => void) => now && queueMicrotask(end),
      Intl: {
        DateTimeFormat: class {
          resolvedOptions = () => ({ timeZone: BROWSER.timeZone });
        },
      },
      navigator:
        badges === 'none'
          ? { language: BROWSER.language }
          : {
              language: BROWSER.language,
              setAppBadge: (count: number) => this.setBadge(count, badges),
              clearAppBadge: () => this.setBadge('cleared', badges),
            },
      console: { warn: (...line: unknown[]) => this.warnings.push(line) },
      location: { host: 'shop.example', href: 'https://shop.example/service-worker.js' },
      addEventListener: (name: string, listener: (event: object) => void) =>
        this.listeners.set(name, listener),
      registration: {
        showNotification: async (title: string, shown: Shown['options']) => {
          this.shown.push({ title, options: shown });
        },
        pushManager: {
          getSubscription: async () => subscription ?? null,
          subscribe: async (given: object) => {
            this.subscribed.push(given);
            return NEW_SUBSCRIPTION;
          },
        },
      },
      clients: {
        matchAll: async (filter: unknown) => {
          expect(filter).toEqual({ type: 'window', includeUncontrolled: true });
          return windows.map((window) => ({
            ...window,
            focus: async () => this.focused.push(window.url),
          }));
        },
        openWindow: async (url: string) => this.opened.push(url),
      },
      indexedDB: {
        open: (name: string) => this.openDatabase(name, device),
        databases: async () => [
          { name: 'of-the-site' },
          ...Object.keys(this.stored).map((id) => ({ name: `beams-${id}` })),
        ],
      },
      fetch: async (url: string, { body, ...request }: { body?: string; method: string }) => {
        expect(request).toMatchObject({
          credentials: 'omit',
          ...(body !== undefined && { headers: { 'Content-Type': 'application/json' } }),
        });
        const { method } = request;
        const sent = body === undefined ? undefined : JSON.parse(body);
        if (url.includes('/reporting_api/')) this.reports.push({ url, body: sent });
        else this.requests.push({ method, url, body: sent });
        return await answer(url);
      },
    };
    self['self'] = self;
    const before = Object.keys(self);
    new Script(serviceWorkerScript(endpoint)).runInContext(createContext(self));
    const made = Object.keys(self).filter((name) => !before.includes(name));
    expect(made).toEqual(['PusherPushNotifications']);
    this.beams = self['PusherPushNotifications'] as Beams;
  }

  private setBadge(count: number | 'cleared', badges: WorkerOptions['badges']): Promise<void> {
    this.badges.push(count);
    return badges === 'silent' ? new Promise(() => undefined) : Promise.resolve();
  }

  private openDatabase(name: string, device: NonNullable<WorkerOptions['device']>): object {
    const id = name.replace(/^beams-/, '');
    if (device === 'broken') return settledSoon(undefined, undefined, new Error('No database'));
    this.databasesOpen++;
    if (name === 'fanfare') return settledSoon(this.ownDatabase());
    const database = {
      createObjectStore: (...store: unknown[]) => this.stores.push(store),
      transaction: () => ({
        objectStore: () => ({
          get: () => settledSoon(this.stored[id]),
          put: (changed: StoredDevice) => {
            this.stored[id] = changed;
            return settledSoon(undefined);
          },
        }),
      }),
      close: () => this.databasesOpen--,
    };
    return settledSoon(database, device === 'none' ? 'onupgradeneeded' : undefined);
  }

  private ownDatabase(): object {
    return {
      transaction: () => ({
        objectStore: () => ({
          get: (key: unknown) => settledSoon(this.sent.get(key) ?? this.sentBefore),
          put: ({ device_id, ...sent }: { readonly device_id: unknown }) => {
            this.sent.set(device_id, sent);
            return settledSoon(undefined);
          },
        }),
      }),
      close: () => this.databasesOpen--,
    };
  }

  /** Dispatches an event and waits for its `waitUntil` promises. Returns the event. */
  async dispatch(name: string, more: object): Promise<object> {
    const waited: unknown[] = [];
    const event = { ...more, waitUntil: (promise: unknown) => waited.push(promise) };
    this.listeners.get(name)?.(event);
    await Promise.all(waited);
    return event;
  }

  /** A declarative push: the browser has read the message itself. */
  async declared(notification: object): Promise<object> {
    return await this.dispatch('push', { data: null, notification });
  }

  /** A push with a text or without data. */
  async push(text: string | null): Promise<object> {
    return await this.dispatch('push', {
      data: text === null ? null : { json: () => JSON.parse(text) },
    });
  }

  async pushed(message: object): Promise<object> {
    return await this.push(JSON.stringify(message));
  }

  /** Clicks on the last notification. Returns whether it was closed. */
  async click(
    data: object | null = this.shown.at(-1)?.options.data ?? null,
    action = '',
  ): Promise<boolean> {
    let closed = false;
    await this.dispatch('notificationclick', {
      action,
      notification: {
        data,
        close() {
          closed = true;
        },
      },
    });
    return closed;
  }
}

export function messageWith(notification: object | undefined, data: object = { order: 7 }): object {
  return { notification, data: { ...data, pusher: PUSHER } };
}
