import { expect } from 'bun:test';
import type { RuleName } from '../../src/verify/check/verdict.ts';
import type { FaultKind } from '../../src/verify/history/line.ts';
import { eventually } from '../../testing/eventually.ts';
import { newApp, TestApp } from '../../testing/servers/test-app.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';
import { type Cluster, ROOM, usersAt } from './cluster.ts';
import { View } from './view.ts';

/** A public channel of which everybody is sent the number of subscriptions. */
const COUNTED = 'prices';

const USERS = Array.from({ length: 8 }, (_, n) => `user-${n}`);
const EVENTS = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'];

const TRIED: readonly RuleName[] = [
  ...(['order', 'after', 'once', 'known', 'arrives'] as const),
  ...(['members', 'present', 'counts'] as const),
];

export interface Person {
  readonly userId: string;
  readonly server: number;
  readonly view: View;
}

/** An app with people at all servers of a cluster: each is signed in, watches all others, and is in two channels. */
export class Scene implements AsyncDisposable {
  readonly backend: WebhookEndpoint;
  /** The app at each server. */
  readonly apps: TestApp[];
  people: Person[] = [];
  readonly history: TestHistory;

  private constructor(backend: WebhookEndpoint, apps: TestApp[], history: TestHistory) {
    this.backend = backend;
    this.apps = apps;
    this.history = history;
  }

  /** Opens it with as many people at each server. */
  static async open(cluster: Cluster, perServer = 2): Promise<Scene> {
    const backend = startWebhookEndpoint();
    const [first] = cluster.servers;
    if (first === undefined) throw new Error('The cluster has no servers');
    const made = await newApp(first, {
      watchlists: true,
      subscriptionCounts: true,
      webhooks: [{ url: backend.url, events: EVENTS, batching: false }],
      // Otherwise several changes of one user are sent as the last one.
      limits: { memberChangesPerSecond: 0 },
    });
    const scene = new Scene(
      backend,
      cluster.servers.map((server) => new TestApp(server, made)),
      new TestHistory({ app: made }),
    );
    for (const app of scene.apps) {
      await eventually(
        async () => (await app.api('GET', '/channels')).status,
        (status) => status === 200,
      );
    }
    for (const server of cluster.servers.keys()) {
      for (let n = 0; n < perServer; n++) await scene.comes(server);
    }
    await scene.settles();
    return scene;
  }

  appAt(server: number): TestApp {
    const app = this.apps[server];
    if (app === undefined) throw new Error(`There is no server ${server}`);
    return app;
  }

  peopleAt(server: number): readonly Person[] {
    return this.people.filter((person) => person.server === server);
  }

  /** A person comes to a server. */
  async comes(
    server: number,
    userId = USERS.find((one) => !this.people.some((person) => person.userId === one)) ?? '',
  ): Promise<Person> {
    const view = await View.open(this.appAt(server), this.history);
    await view.signsIn(
      userId,
      USERS.filter((one) => one !== userId),
    );
    await view.enters(ROOM, userId);
    await view.enters(COUNTED);
    const person = { userId, server, view };
    this.people.push(person);
    return person;
  }

  /** A person's connection ends. */
  async goes(person: Person): Promise<void> {
    this.people = this.people.filter((one) => one !== person);
    await person.view[Symbol.asyncDispose]();
  }

  /** Waits until servers have closed all connections with this code; each person comes back at once. */
  async allComeBack(code: number): Promise<void> {
    await Promise.all(
      this.people.splice(0).map(async ({ userId, server, view }) => {
        expect(await view.client.closed).toMatchObject({ code });
        await this.comes(server, userId);
      }),
    );
  }

  /** Triggers an event and returns the status, or 0 if nobody answers. Its name must be new. */
  async publish(server: number, e: string): Promise<number> {
    this.history.add('trigger', { e, ch: [ROOM] });
    const { status } = await this.appAt(server)
      .post('/events', { name: e, channel: ROOM, data: 'x' })
      .catch(() => ({ status: 0 }));
    this.history.add('answer', { e, status });
    return status;
  }

  /** Notes a fault that begins now. */
  lasts(what: FaultKind, ms: number): void {
    this.history.add('fault', { what, until: this.history.now + ms });
  }

  /** Waits until these people, of all of them, see each other and nobody else, and so do the servers. */
  async settles(people: readonly Person[] = this.people): Promise<void> {
    const users = people.map(({ userId }) => userId).toSorted();
    for (const { view, userId } of people) {
      const seen = () => ({
        members: view.membersOf(ROOM),
        count: view.counts.get(COUNTED),
        online: [...view.online].toSorted(),
      });
      const online = users.filter((one) => one !== userId);
      await becomes(seen, { members: users, count: users.length, online });
    }
    for (const server of new Set(people.map((person) => person.server))) {
      const app = this.appAt(server);
      await becomes(async () => (await usersAt(app)).toSorted(), users);
    }
    for (const { view } of this.people) expect(view.problems).toEqual([]);
  }

  /** Waits until all has come that is on its way, and expects that every promise was kept until now. Nothing more is recorded. */
  async keeps(): Promise<void> {
    const trigger = async ({ e }: { readonly e: string }) => {
      await this.publish(0, e);
    };
    await this.history.settle({ trigger }, ROOM);
    expect(this.history.problems(...TRIED)).toEqual([]);
  }

  /** Waits until webhooks have reported this of the room, and nothing else since the last call. */
  async reports(expected: readonly string[]): Promise<void> {
    const found = () => this.reported.slice(this.reportsSeen).toSorted();
    await becomes(found, expected.toSorted());
    this.reportsSeen += expected.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const person of this.people) await this.goes(person);
    this.backend[Symbol.dispose]();
  }

  private reportsSeen = 0;

  /** What webhooks have reported of the room: `+user`, `-user`, `occupied` and `vacated`. */
  get reported(): readonly string[] {
    return this.backend.bodies.flatMap((body) =>
      JSON.parse(body).events.flatMap(({ name, channel, user_id: userId }: Report) => {
        if (channel !== ROOM) return [];
        if (name === 'member_added') return [`+${userId}`];
        if (name === 'member_removed') return [`-${userId}`];
        return [name.slice('channel_'.length)];
      }),
    );
  }
}

interface Report {
  readonly name: string;
  readonly channel: string;
  readonly user_id?: string;
}

/** Waits until an answer is as expected; a failure shows the difference. */
async function becomes<T>(ask: () => T | Promise<T>, expected: T): Promise<void> {
  const text = JSON.stringify(expected);
  const isEqual = (answer: T | undefined) => JSON.stringify(answer) === text;
  const found = await eventually(
    () => Promise.resolve(ask()).catch(() => undefined),
    isEqual,
  ).catch(() => ask());
  expect(found as unknown).toEqual(expected);
}
