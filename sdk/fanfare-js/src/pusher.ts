import { Places } from '../../resume/places.js';
import type Channel from './channels/channel.ts';
import Channels from './channels/channels.ts';
import { checkOptions, configOf } from './config.ts';
import ConnectionManager from './connection/connection-manager.ts';
import type { PusherEvent } from './connection/protocol.ts';
import Emitter from './emitter.ts';
import log, { logBy } from './log.ts';
import type { Config, Options } from './options.ts';
import type { Runtime } from './runtime.ts';
import User from './user.ts';

/** A client. Entries of the package are classes that extend it and have a runtime. */
export default class Pusher extends Emitter {
  static instances: Pusher[] = [];
  /** `false`: new clients wait for `ready()`. */
  static isReady = true;
  declare static Runtime: Runtime;

  /** Takes the lines of the log. */
  declare static log: ((message: string) => void) | undefined;
  static logToConsole = false;

  static ready(): void {
    Pusher.isReady = true;
    for (const pusher of Pusher.instances) pusher.connect();
  }

  declare key: string;
  declare options: Options;
  declare config: Config;
  channels = new Channels();
  /** What is bound to the client hears the events of all channels. */
  global_emitter: Emitter = this;
  sessionID: number = Math.floor(Math.random() * 1e9);
  declare connection: ConnectionManager;
  declare user: User;
  /** How far each channel has come; undefined: the application does not want to resume. */
  declare readonly resumption: Places | undefined;
  declare readonly runtime: Runtime;

  constructor(key: string, options: Options) {
    super();
    if (key == null) throw 'You must pass your app key when you instantiate Pusher.';
    checkOptions(options);
    const own = this.constructor as typeof Pusher;
    logBy(own);
    this.runtime = own.Runtime;
    this.key = key;
    this.options = options;
    this.config = configOf(options, this);
    const { resume } = options;
    this.resumption = resume === false ? undefined : new Places(resume?.after);
    const connection = new ConnectionManager(this);
    this.connection = connection;
    connection.bind('connected', () => {
      this.resumption?.connected(connection.socket_id);
      this.subscribeAll();
    });
    connection.bind('message', (event: PusherEvent) => {
      const { event: name, data, channel } = event;
      try {
        if (channel) this.channel(channel)?.handleEvent(event);
      } finally {
        if (!name.startsWith('pusher_internal:')) this.global_emitter.emit(name, data);
      }
    });
    const lost = () => this.channels.disconnect();
    connection.bind('connecting', lost).bind('disconnected', lost);
    connection.bind('error', (error) => log.warn(error));
    own.instances.push(this);
    this.user = new User(this);
    if (own.isReady) this.connect();
  }

  /** The socket id of this connection or of the next one. */
  get ready(): Promise<string> {
    return this.connection.ready;
  }

  /** By channel, the id of the last event that its handlers got. */
  places(): Record<string, string> {
    return this.resumption?.ids() ?? {};
  }

  switchCluster({ appKey, cluster }: { readonly appKey: string; readonly cluster: string }): void {
    this.key = appKey;
    this.options = { ...this.options, cluster };
    this.config = configOf(this.options, this);
    this.connection.switchCluster(appKey);
  }

  channel(name: string): Channel | undefined {
    return this.channels.find(name);
  }

  allChannels(): Channel[] {
    return this.channels.all();
  }

  connect(): void {
    this.connection.connect();
  }

  disconnect(): void {
    this.connection.disconnect();
  }

  subscribeAll(): void {
    for (const name of Object.keys(this.channels.channels)) this.subscribe(name);
  }

  subscribe(name: string): Channel {
    const channel = this.channels.add(name, this);
    if (!channel.subscriptionPending) {
      if (this.connection.state === 'connected') channel.subscribe();
    } else if (channel.subscriptionCancelled) channel.reinstateSubscription();
    return channel;
  }

  unsubscribe(name: string): void {
    this.resumption?.forget(name);
    const channel = this.channel(name);
    if (channel?.subscriptionPending) channel.cancelSubscription();
    else {
      this.channels.remove(name);
      if (channel?.subscribed) channel.unsubscribe();
    }
  }

  send_event(event: string, data: unknown, channel?: string): boolean {
    const { connection, resumption } = this;
    const isSubscribing = event === 'pusher:subscribe' && connection.extras.includes('resume');
    const more = isSubscribing && resumption?.fieldsOf((data as { channel: string }).channel);
    return connection.send_event(event, more ? { ...(data as object), ...more } : data, channel);
  }

  shouldUseTLS(): boolean {
    return this.config.useTLS;
  }

  signin(): void {
    this.user.signin();
  }
}
