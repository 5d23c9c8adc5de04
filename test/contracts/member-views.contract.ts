import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { Member } from '../../src/channels/ports.ts';
import { presenceRuleOf } from '../../src/channels/presence-rule.ts';
import { parseSocketId, type SocketId } from '../../src/channels/socket-id.ts';
import { LocalChannels } from '../../src/channels/subscribing/local-channels.ts';
import { Random } from '../../testing/random.ts';
import type { OpenCluster } from './authority.contract.ts';
import type { LoopStage } from './loop-stage.ts';
import { appWith, channel, presenceRules } from './values.ts';

const ROOM = channel('presence-room');
const USERS = ['ann', 'bob', 'eve', 'dan'];
const INFOS = ['{"n":1}', '{"n":2}'];
const CLIENTS_MAX = 8;
const STEPS = 80;
/** Long enough for every delayed change. */
const WHILE_MS = 5000;

/** What one client knows of the members of the room, and what it was told although it knew that already. */
class View {
  readonly faults: string[] = [];
  readonly members = new Map<string, string | undefined>();

  constructor(members: readonly Member[]) {
    for (const { userId, userInfo } of members) {
      if (this.members.has(userId)) this.faults.push(`${userId} is twice among the members`);
      this.members.set(userId, userInfo);
    }
  }

  take(frame: string): void {
    const { event, data } = JSON.parse(frame);
    const { user_id, user_info } = JSON.parse(data);
    if (event === 'pusher_internal:member_added') {
      if (this.members.has(user_id)) this.faults.push(`${user_id} was added twice`);
      this.members.set(user_id, user_info && JSON.stringify(user_info));
    } else if (event === 'pusher_internal:member_removed') {
      if (!this.members.delete(user_id)) this.faults.push(`${user_id} was removed twice`);
    }
  }
}

interface Client {
  readonly loop: LoopStage;
  readonly channels: LocalChannels;
  readonly member: Member;
  view?: View;
  stopReading?: () => void;
  /** Settles when it has entered, or was refused: `false`. */
  entered: Promise<boolean>;
}

function membersOf(view: View | undefined): readonly string[] {
  return [...(view?.members ?? [])].map(([userId, info]) => `${userId} ${info}`).sort();
}

/** What clients know of members, with any engine: who was in when they came, and every change since. */
export function memberViewsContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
  seeds = 20,
): void {
  async function run(app: App, seed: number): Promise<void> {
    const random = new Random(seed);
    const cluster = await open([app]);
    const loops = cluster.loops.map((loop) => ({ loop, channels: new LocalChannels() }));
    const clients: Client[] = [];
    const views: View[] = [];
    const refused: string[] = [];
    let connections = 0;

    const connect = () => {
      const { loop, channels } = random.pick(loops);
      const member = { userId: random.pick(USERS), userInfo: random.pick(INFOS) };
      connections++;
      const socketId = parseSocketId(`1.${connections}`) as SocketId;
      const { subscriptions: held } = channels.enter(app, ROOM, member);
      const entry = { app, channel: ROOM, held, member, newcomer: { socketId } };
      const client: Client = { loop, channels, member, entered: Promise.resolve(true) };
      const others = clients.filter(
        (one) => one.member.userId === member.userId && one.view !== undefined,
      );
      const joined = loop.authority.join(entry, ({ members }) => {
        const view = new View(members);
        client.view = view;
        views.push(view);
        client.stopReading = loop.read(app, ROOM.text, (frame, except) => {
          if (except !== socketId) view.take(frame);
        });
      });
      client.entered = Promise.resolve(joined).then(async (isIn) => {
        if (isIn) return true;
        if (others.some((one) => clients.includes(one))) refused.push(member.userId);
        if (clients.includes(client)) clients.splice(clients.indexOf(client), 1);
        await disconnect(client);
        return false;
      });
      clients.push(client);
    };
    const disconnect = async ({ loop, channels, member, stopReading }: Client) => {
      stopReading?.();
      const { userId } = member;
      const { subscriptions, ofUser } = channels.leave(app, `${app.id}/${ROOM.text}`, member);
      const exit = { app, channel: ROOM, held: subscriptions };
      const grace = presenceRuleOf(app, ROOM.text)?.graceSeconds;
      const isLast = ofUser === 0;
      const graceSeconds = isLast && grace !== undefined && random.chance(0.7) ? grace : undefined;
      await loop.authority.leave({ ...exit, userId: isLast ? userId : undefined, graceSeconds });
    };

    for (let step = 0; step < STEPS; step++) {
      const leaving = random.chance(clients.length / CLIENTS_MAX)
        ? random.pick(clients)
        : undefined;
      if (leaving === undefined) connect();
      else {
        clients.splice(clients.indexOf(leaving), 1);
        // The changes of one connection are in order, those of several overlap.
        void leaving.entered.then((isIn) => (isIn ? disconnect(leaving) : undefined));
      }
      if (random.chance(0.3)) await cluster.settled();
      if (random.chance(0.2)) await cluster.advance(random.between(0, 400));
    }
    await Promise.all(clients.map(({ entered }) => entered));
    await cluster.settled();
    await cluster.advance(WHILE_MS);
    await cluster.settled();
    const [{ loop } = { loop: undefined }] = loops;
    const members = (await loop?.authority.members(app, ROOM)) ?? [];
    const truth = membersOf(new View(members));
    expect(members.length).toBeLessThanOrEqual(app.limits.presenceMembers);
    expect(refused).toEqual([]);
    expect(views.flatMap(({ faults }) => faults)).toEqual([]);
    for (const { view } of clients) expect(membersOf(view)).toEqual(truth);
  }

  async function runAll(app: App): Promise<void> {
    for (let seed = 1; seed <= seeds; seed++) {
      await run(app, seed).catch((error) => {
        throw new Error(`Seed ${seed}: ${error.message}`);
      });
    }
  }

  describe(`${name} keeps every client's view of the members right`, () => {
    for (const memberChangesPerSecond of [0, 1, 2, 10]) {
      it(`at random joins and leaves, with ${memberChangesPerSecond} changes of a user in a second`, async () => {
        await runAll(appWith({ memberChangesPerSecond }));
      });
    }

    for (const memberChangesPerSecond of [0, 1]) {
      it(`if members stay without connections, with ${memberChangesPerSecond} changes of a user in a second`, async () => {
        const presence = presenceRules({ channels: ROOM.text, graceSeconds: 1 });
        await runAll({ ...appWith({ memberChangesPerSecond }), presence });
      });
    }

    it('in a full channel, which refuses no other connection of a member', async () => {
      await runAll(appWith({ presenceMembers: 2 }));
    });
  });
}
