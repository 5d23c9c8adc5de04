import PusherJs, { type Channel } from 'pusher-js';
import { resume } from '../../../sdk/resume/index.js';
import { type Resumption, recordOf } from '../../../src/doctor/client/client-messages.ts';
import { channelAuth } from '../../../src/doctor/client/signed-request.ts';
import { kernelInUse } from '../kernel/globals.ts';
import { ClientRequest } from '../network/client-request.ts';
import { CLIENT_EVENT, type ClientWorld, type CrowdMember, type Part } from './crowd-member.ts';
import { notePusher, type PusherNetwork } from './pusher-runtime.ts';

/** How a client of `pusher-js` may connect. */
export type PusherTransport = 'ws' | 'xhr_streaming' | 'xhr_polling';

/** How long the page's backend takes to sign. Milliseconds. */
const SIGNED_MS = 30;
const REOPENED_MS = 200;
const RELOADED_MS = 1_000;
/**
 * Over HTTP, a page comes back to a channel so long after it has left it, at least, and once its messages are answered. `pusher-js` sends
 * both requests side by side, and they overtake one another by more here than they do in browsers, and than the server puts in order
 * again: one of several servers may stand still with the first of them. Milliseconds.
 */
const APART_MS = 250;

const ID_AT_END = /,"id":"([^"]+)"}$/;

/** The methods of `pusher-js` that are wrapped, which its types do not show. */
interface Sending {
  send_event(event: string, data: unknown, channel?: string): boolean;
}

/** `pusher-js` as it comes from npm, with `fanfare/resume` if it resumes. It notes what its handlers get. */
export class PusherClient implements CrowdMember {
  readonly part: Part;
  socket: string | undefined;
  private readonly world: ClientWorld;
  private readonly network: PusherNetwork;
  private readonly transports: readonly PusherTransport[];
  private readonly left = new Set<string>();
  /** Channels that this connection has left, and not entered again for certain: what comes of them is of before. */
  private readonly stale = new Set<string>();
  private pusher: PusherJs | undefined;
  private n = 0;
  private code = 1006;
  private leftAtMs = 0;

  constructor(part: Part, world: ClientWorld, transports: readonly PusherTransport[]) {
    this.part = part;
    this.world = world;
    this.transports = transports;
    this.network = notePusher(kernelInUse().context);
  }

  get isReady(): boolean {
    const { pusher } = this;
    return (
      this.socket !== undefined &&
      pusher !== undefined &&
      this.wanted.every((name) => pusher.channel(name)?.subscribed === true)
    );
  }

  connect(): void {
    const { host, credentials } = this.world;
    const [name = '', port] = host.split(':');
    const pusher = new PusherJs(credentials.key, {
      cluster: 'local',
      wsHost: name,
      wsPort: Number(port),
      httpHost: name,
      httpPort: Number(port),
      forceTLS: false,
      enabledTransports: [...this.transports],
      pongTimeout: 5_000,
      unavailableTimeout: 3_000,
      channelAuthorization: {
        endpoint: '',
        transport: 'ajax',
        customHandler: ({ socketId, channelName }, callback) =>
          void setTimeout(
            () => callback(null, this.sign(socketId, channelName)),
            Math.random() * SIGNED_MS,
          ),
      },
    });
    this.pusher = pusher;
    // It keeps all of them for ever.
    PusherJs.instances.splice(0);
    // Before the plugin, which changes what is sent.
    this.noteSending(pusher as unknown as Sending);
    pusher.connection.bind('error', (error: unknown) => this.noteError(error));
    // It comes before `connected`, on which `pusher-js` subscribes.
    pusher.connection.bind('state_change', ({ current }: { readonly current: string }) =>
      this.changed(current),
    );
    if (this.part.resumes) resume(pusher);
    for (const channel of this.wanted) this.subscribe(channel);
  }

  stop(): void {
    this.pusher?.disconnect();
  }

  leave(channel: string): void {
    if (this.pusher?.channel(channel)?.subscribed !== true) return;
    this.left.add(channel);
    this.leftAtMs = performance.now();
    this.stale.add(channel);
    this.pusher.unsubscribe(channel);
  }

  enter(channel: string): void {
    const isSending = this.network.sending > 0 || performance.now() - this.leftAtMs < APART_MS;
    if (this.usesHttp && isSending) return;
    if (this.left.delete(channel)) this.subscribe(channel);
  }

  whisper(e: string): void {
    const { whispers } = this.part;
    const channel = whispers === undefined ? undefined : this.pusher?.channel(whispers);
    if (this.socket !== undefined && channel?.subscribed === true) {
      channel.trigger(CLIENT_EVENT, { e });
    }
  }

  cut(): void {
    this.network.carrier?.cut();
  }

  reopen(): void {
    this.code = 1000;
    this.pusher?.disconnect();
    setTimeout(() => this.pusher?.connect(), REOPENED_MS);
  }

  silence(): void {
    this.network.carrier?.silence();
  }

  slowDown(bytesPerMs: number): void {
    this.network.carrier?.slowDown(bytesPerMs);
  }

  private get usesHttp(): boolean {
    return this.network.carrier instanceof ClientRequest;
  }

  private get wanted(): readonly string[] {
    return this.part.channels.filter((channel) => !this.left.has(channel));
  }

  private sign(socketId: string, channel: string) {
    const { key, secret } = this.world.credentials;
    if (!channel.startsWith('presence-')) {
      return { auth: channelAuth(key, secret, socketId, channel) };
    }
    const data = JSON.stringify({ user_id: this.part.user });
    return {
      auth: channelAuth(key, secret, socketId, `${channel}:${data}`),
      channel_data: data,
    };
  }

  private changed(state: string): void {
    const { number: c } = this.part;
    const { recorder } = this.world;
    if (this.socket !== undefined && state !== 'connected') {
      recorder.add('close', { c, n: this.n, code: this.code });
      // The server may have got no request that broke: then it waits for the next one.
      if (this.usesHttp) recorder.add('fault', { what: 'cut-off' });
      this.socket = undefined;
      this.stale.clear();
    }
    // It gives up a transport that has broken twice soon after it was open. The user then loads the page again.
    if (state === 'failed') setTimeout(() => this.connect(), RELOADED_MS);
    if (state !== 'connected' || this.socket !== undefined) return;
    this.socket = this.pusher?.connection.socket_id ?? '';
    this.n++;
    this.code = 1006;
    recorder.add('open', { c, n: this.n, socket: this.socket });
  }

  private noteError(error: unknown): void {
    const code = recordOf(recordOf(recordOf(error)?.['error'])?.['data'])?.['code'];
    if (typeof code === 'number') this.code = code;
  }

  private noteSending(pusher: Sending): void {
    const send = pusher.send_event.bind(pusher);
    pusher.send_event = (event, data, channel) => {
      if (this.socket !== undefined) this.sending(event, recordOf(data) ?? {}, channel);
      return send(event, data, channel);
    };
  }

  private sending(
    event: string,
    data: Readonly<Record<string, unknown>>,
    channel: string | undefined,
  ): void {
    const { recorder } = this.world;
    const at = { c: this.part.number, n: this.n };
    const ch = channel ?? String(data['channel']);
    if (event === CLIENT_EVENT) {
      recorder.add('whisper', { ...at, ch, e: String(data['e']) });
    } else if (event === 'pusher:unsubscribe') {
      recorder.add('unsubscribe', { ...at, ch });
    } else if (event === 'pusher:subscribe') {
      const { resume_after_id: after } = data;
      recorder.add('subscribe', {
        ...at,
        ch,
        ...(ch.startsWith('presence-') ? { user: this.part.user } : {}),
        ...(typeof after === 'string' ? { after } : {}),
      });
    }
  }

  private subscribe(name: string): void {
    const channel: Channel | undefined = this.pusher?.subscribe(name);
    channel?.bind_global((event: string, data: unknown) => this.handled(name, event, data));
  }

  private handled(ch: string, event: string, data: unknown): void {
    const { recorder } = this.world;
    const at = { c: this.part.number, n: this.n, ch };
    const value = recordOf(data);
    if (this.stale.has(ch) && event !== 'pusher:subscription_succeeded') return;
    switch (event) {
      case 'pusher:subscription_succeeded': {
        this.stale.delete(ch);
        const { members, resumed } = confirmationOf(this.network.frame);
        recorder.add('subscribed', {
          ...at,
          ...(members === undefined ? {} : { members }),
          ...(resumed === undefined ? {} : { resume: resumed }),
        });
        return;
      }
      case 'pusher:member_added':
        return recorder.add('joined', { ...at, user: String(value?.['id']) });
      case 'pusher:member_removed':
        return recorder.add('left', { ...at, user: String(value?.['id']) });
      case 'pusher:subscription_count':
        return recorder.add('counted', { ...at, count: Number(value?.['subscription_count']) });
      default: {
        if (event.startsWith('pusher') || event === 'fanfare:gap') return;
        const id = ID_AT_END.exec(this.network.frame)?.[1];
        const given = id === undefined ? {} : { id };
        recorder.add('event', { ...at, e: String(value?.['e']), ...given });
      }
    }
  }
}

/** What a confirmation says that its handlers are not told. */
function confirmationOf(frame: string) {
  const data = recordOf(recordOf(frame)?.['data']);
  const ids = recordOf(data?.['presence'])?.['ids'];
  const resumed = recordOf(data?.['resume']) as Resumption | undefined;
  return { members: Array.isArray(ids) ? ids.map(String) : undefined, resumed };
}
