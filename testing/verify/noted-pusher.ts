import type PusherJs from 'pusher-js';
import { readServerMessage, recordOf } from '../../src/doctor/client/client-messages.ts';
import type { Recorder } from '../../src/verify/crowd/recorder.ts';
import { NotedClient } from './noted-client.ts';

/** The parts of pusher-js that its types do not show. */
interface Inside {
  readonly connection: {
    send_event(event: string, data: unknown, channel?: string): boolean;
    readonly connection?: {
      readonly transport: {
        bind(event: 'message', take: (message: { readonly data: string }) => void): void;
      };
    };
  };
}

const CUT = 1006;

/** Instances of pusher-js that are one client of a history, which has what their handlers get. */
export class NotedPusher {
  /** Called with each event that a handler gets. */
  onEvent: (channel: string, e: string) => void = () => undefined;
  private readonly client: NotedClient;
  private readonly user: string;
  /** The event that handlers have got of the present frame. */
  private handled: string | undefined;

  constructor(recorder: Recorder, number: number, user: string) {
    this.client = new NotedClient(recorder, number);
    this.user = user;
  }

  /** How many connections there were. */
  get connections(): number {
    return this.client.connections;
  }

  /** Notes what an instance does that has just been made. */
  note(pusher: PusherJs): void {
    const { client } = this;
    const inside = pusher as unknown as Inside;
    const { connection } = inside;
    const send = connection.send_event.bind(connection);
    // Here, whatever resumes has added its place.
    connection.send_event = (event, data, channel) => {
      const { channel: name, resume_after_id: after } = recordOf(data) ?? {};
      if (event === 'pusher:subscribe' && pusher.connection.state === 'connected') {
        const user = String(name).startsWith('presence-') ? this.user : undefined;
        client.subscribes(String(name), user, typeof after === 'string' ? after : undefined);
      }
      return send(event, data, channel);
    };
    // It comes before `connected`, on which pusher-js subscribes.
    pusher.connection.bind('state_change', ({ current, previous }: Record<string, string>) => {
      if (previous === 'connected') client.closed(CUT);
      if (current !== 'connected') return;
      client.opened(pusher.connection.socket_id);
      const n = client.connections;
      // Bound after pusher-js: the handlers of the channel have run.
      inside.connection.connection?.transport.bind('message', ({ data }) => {
        const e = this.handled;
        this.handled = undefined;
        const message = readServerMessage(data);
        if (message !== undefined && n === client.connections) client.hears(message, e);
      });
    });
  }

  subscribe(pusher: PusherJs, name: string): void {
    pusher.subscribe(name).bind_global((event: string, data: unknown) => {
      const e = recordOf(data)?.['e'];
      if (event.startsWith('pusher') || typeof e !== 'string') return;
      this.handled = e;
      this.onEvent(name, e);
    });
  }
}
