import type { OutgoingAnswer, SendRequest } from '../../../../src/outgoing/request.ts';
import type { Random } from '../../../../testing/random.ts';
import type { RecordedHistory } from '../recorded-history.ts';
import type { Broken } from '../world.ts';
import type { WorldTime } from '../world-time.ts';

export const APP_HOOK = 'https://app.example/hook';
export const PUBLISH_HOOK = 'https://publish.example/hook';
export const INSTANCE_HOOK = 'https://instance.example/hook';

const moods = ['fine', 'fine', 'slow', 'failing', 'mute', 'away'] as const;

type Mood = (typeof moods)[number];

const LINK_MS = 30;

export interface EndpointsOptions {
  readonly time: WorldTime;
  readonly random: Random;
  readonly history: RecordedHistory;
  readonly trace: ((text: string) => void) | undefined;
}

/** The addresses that webhooks are sent to. */
export class Endpoints {
  /** `STARTED`, `FINISHED` and `ATTEMPTED` of publishes, each followed by the id, in the order in which they came. */
  readonly progress = new Set<string>();
  readonly problems: Broken[] = [];
  private readonly options: EndpointsOptions;
  private readonly moods = new Map<string, Mood>();

  constructor(options: EndpointsOptions) {
    this.options = options;
  }

  changeMood(): void {
    const { random } = this.options;
    this.moods.set(random.pick([APP_HOOK, PUBLISH_HOOK, INSTANCE_HOOK]), random.pick(moods));
  }

  calm(): void {
    this.moods.clear();
  }

  readonly send: SendRequest = async ({ url, body, timeoutMs }) => {
    const { random, time } = this.options;
    const mood = this.moods.get(url) ?? 'fine';
    const pause = (ms: number) => new Promise<void>((resolve) => time.after(ms, resolve));
    await pause(random.between(1, LINK_MS));
    this.options.trace?.(`${url}, which is ${mood}, is sent ${body}`);
    if (mood === 'away') return { result: 'unreachable', why: 'refused' };
    this.receive(url, String(body));
    if (mood === 'mute') {
      await pause(timeoutMs);
      return { result: 'timeout' };
    }
    await pause(
      mood === 'slow' ? random.between(500, timeoutMs - 100) : random.between(1, LINK_MS),
    );
    return answered(mood === 'failing' ? 500 : 200);
  };

  private receive(url: string, body: string): void {
    const fields = JSON.parse(body);
    if (url === APP_HOOK) return this.receiveEvents(fields, Bun.hash(body).toString(36));
    if (url === INSTANCE_HOOK) {
      this.progress.add(`ATTEMPTED ${fields.payload.publish_id}`);
      return;
    }
    const { status, publishId } = fields;
    this.progress.add(`${status} ${publishId}`);
    if (status === 'FINISHED' && !this.progress.has(`STARTED ${publishId}`)) {
      this.problems.push({
        rule: 'completion',
        text: `the end of ${publishId} came before its start`,
      });
    }
  }

  private receiveEvents(
    { time_ms: time, events }: { time_ms: number; events: readonly Record<string, string>[] },
    request: string,
  ): void {
    for (const { name = '', channel: ch = '', user_id: user } of events) {
      this.options.history.say('webhook', { ch, name, ...(user && { user }), time, request });
    }
  }
}

function answered(status: number): OutgoingAnswer {
  return { result: 'answered', status, headers: new Headers(), body: new Uint8Array() };
}
