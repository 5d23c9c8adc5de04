import type { App } from '../../src/channels/app.ts';
import { parseChannelName } from '../../src/channels/channel-name.ts';
import { WebhookEvents } from '../../src/channels/lifecycle/webhook-events.ts';
import type { Entered } from '../../src/channels/ports.ts';
import type { SocketId } from '../../src/channels/socket-id.ts';
import { Usage } from '../../src/channels/usage/usage.ts';
import { presenceSucceeded } from '../../src/channels/wire.ts';
import { appSettings } from '../../src/config/settings/channels-settings.ts';
import { MemoryEngine } from '../../src/engines/memory.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import { monotonicTimers, systemTimers } from '../../src/runtime/system-timers.ts';
import { inRounds } from '../in-rounds.ts';
import { describeConditions } from '../machine/conditions.ts';
import { parseOptions, writeResults } from '../options.ts';
import { median, printConditions } from '../report.ts';

const help = `What a join and a leave of a large presence channel cost with few and with many members, in the engine of one thread: the decision, the
confirmation, and the counts to all.

npm run bench -- presence [options]

  --json FILE  also write the results to this file
  --help       print this
`;

const MEMBERS = [200, 20_000] as const;
const SHOWN = 20;
const ROUNDS = 9;
const JOINS = 5_000;
/** The bounds of what many members may cost, beside few. */
const BYTES_MAX = 1.1;
const CPU_MAX = 1.5;

const noop = () => undefined;

export async function benchPresence(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: { json: { type: 'string' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  console.log(printConditions(describeConditions('not pinned')));
  const rooms = new Map(MEMBERS.map((members) => [members, new Room(members)]));
  const found = await inRounds(ROUNDS, MEMBERS, async (members) => rooms.get(members)?.measure());
  const of = (members: (typeof MEMBERS)[number]) => found[members].flatMap((one) => one ?? []);
  const [few, many] = MEMBERS;
  const cpu = median(of(many).map(({ us }) => us)) / median(of(few).map(({ us }) => us));
  const bytes = (of(many)[0]?.bytes ?? 0) / (of(few)[0]?.bytes ?? 0);
  for (const members of MEMBERS) {
    const us = median(of(members).map((one) => one.us));
    console.log(
      `${members} members: ${us.toFixed(1)} µs a join and leave, ${of(members)[0]?.bytes} bytes a confirmation`,
    );
  }
  console.log(
    `ratio: ${cpu.toFixed(2)} of the processor time (at most ${CPU_MAX}), ${bytes.toFixed(2)} of the bytes (at most ${BYTES_MAX})`,
  );
  await writeResults(values.json, { members: MEMBERS, cpu, bytes });
  return cpu <= CPU_MAX && bytes <= BYTES_MAX ? 0 : 1;
}

/** A large channel with members who stay. Others join and leave, the longest present first. */
class Room {
  private readonly app: App;
  private readonly engine: MemoryEngine;
  private readonly channel = channelOf('presence-room');
  private held = 0;
  private joined = 0;
  private left = 0;

  constructor(members: number) {
    const presence = [{ channels: 'presence-*', shown: SHOWN, members: 0 }];
    this.app = appSettings.parse({ id: 'app', keys: [{ key: 'key', secret: 'secret' }], presence });
    const meter = new TableMeter();
    const log = { debug: noop, info: noop, warn: noop, error: noop };
    const usage = new Usage({ clock: systemTimers, log, meter });
    const audience = {
      join: noop,
      leave: noop,
      leaveAll: noop,
      send: (_: string, makeFrame: () => string) => makeFrame().length,
    };
    this.engine = new MemoryEngine({
      timers: monotonicTimers,
      monotonic: monotonicTimers,
      webhooks: new WebhookEvents({ clock: systemTimers, usage, sink: { emit: noop } }),
      broadcaster: { audience, usage },
      meter,
      historyBytes: 1_000_000,
      terminate: noop,
    });
    while (this.joined < members) this.join();
  }

  measure(): { readonly us: number; readonly bytes: number } {
    let bytes = 0;
    const before = process.cpuUsage();
    for (let n = 0; n < JOINS; n++) {
      bytes = this.join();
      this.leave();
    }
    const { user, system } = process.cpuUsage(before);
    return { us: (user + system) / JOINS, bytes };
  }

  private join(): number {
    this.joined++;
    this.held++;
    let bytes = 0;
    const { app, channel, held } = this;
    const member = { userId: userId(this.joined), userInfo: '{"name":"Somebody"}' };
    const entered = (found: Entered) => {
      bytes = presenceSucceeded(channel.text, found).length;
    };
    const newcomer = { socketId: `1.${this.joined}` as SocketId };
    this.engine.join({ app, channel, held, member, newcomer }, entered);
    return bytes;
  }

  private leave(): void {
    this.left++;
    this.held--;
    const { app, channel, held } = this;
    this.engine.leave({ app, channel, held, userId: userId(this.left) });
  }
}

/** Of one length, so that bytes can be compared. */
function userId(number: number): string {
  return `user-${String(number).padStart(9, '0')}`;
}

function channelOf(text: string) {
  const parsed = parseChannelName(text);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.channel;
}
