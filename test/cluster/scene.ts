import { expect } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import { newApp, TestApp } from '../../testing/servers/test-app.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { type Cluster, ROOM, usersAt } from './cluster.ts';
import { View } from './view.ts';

/** A public channel of which everybody is sent the number of subscriptions. */
const COUNTED = 'prices';

const USERS = Array.from({ length: 8 }, (_, n) => `user-${n}`);
const EVENTS = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'];

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
  /** Names of the events that were answered 200. */
  readonly accepted: string[] = [];

  private constructor(backend: WebhookEndpoint, apps: TestApp[]) {
    this.backend = backend;
    this.apps = apps;
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
    const view = await View.open(this.appAt(server));
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

  /** Triggers an event and returns the status. */
  async publish(server: number, name: string): Promise<number> {
    const { status } = await this.appAt(server).post('/events', { name, channel: ROOM, data: 'x' });
    if (status === 200) this.accepted.push(name);
    return status;
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

  /** Waits until these people have received all accepted events, once and in one order. */
  async allReceived(people: readonly Person[] = this.people): Promise<void> {
    const accepted = new Set(this.accepted);
    // One that was refused may have been sent, if only the answer was lost.
    const receivedBy = ({ view }: Person) =>
      view.eventsOf(ROOM).filter((name) => accepted.has(name));
    const sorted = this.accepted.toSorted();
    for (const person of people) {
      await becomes(() => receivedBy(person).toSorted(), sorted);
      expect(receivedBy(person)).toEqual(receivedBy(people[0] ?? person));
    }
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
